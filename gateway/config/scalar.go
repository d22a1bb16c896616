package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxSize keeps a size within an int of 32 bits and what one process can hold.
const maxSize Size = 1 << 30

var units = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}

// parseSize reads 65536, 64KiB, 8MiB or 1GiB.
func parseSize(text string) (Size, error) {
	digits, factor := text, int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			digits, factor = rest, u.bytes
		}
	}
	n, err := parseInt(digits)
	if err != nil {
		return 0, errors.New("is not a size; write bytes or a whole number of KiB, MiB or GiB, such as 64KiB")
	}
	if int64(n) > int64(maxSize)/factor {
		return 0, errors.New("is too large; the most is 1GiB")
	}
	return Size(int64(n) * factor), nil
}

func parseInt(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, errors.New("is not a whole number")
	}
	return int(n), nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, notNumber := strconv.ParseFloat(text, 64); notNumber == nil {
		return 0, errors.New("needs a unit, such as 30s or 5m")
	}
	return 0, errors.New("is not a duration; write it such as 500ms, 30s, 5m or 1h30m, and 0 for none")
}

func parseBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("is neither true nor false")
}

// setScalar puts an expanded text into a field and checks it against the
// field's oneof, later, min and max. The error completes the sentence "KEY …"
// and does not repeat the text, which may be a secret.
func setScalar(into reflect.Value, text string, tag reflect.StructTag) error {
	switch p := into.Addr().Interface().(type) {
	case *bool:
		b, err := parseBool(text)
		*p = b
		return err
	case *int:
		return setOrdered(p, text, tag, parseInt)
	case *Size:
		return setOrdered(p, text, tag, parseSize)
	case *time.Duration:
		return setOrdered(p, text, tag, parseDuration)
	}
	if err := checkWord(text, tag); err != nil {
		return err
	}
	into.SetString(text)
	return nil
}

// setOrdered reads a value that the tags min and max may bound.
func setOrdered[T int | Size | time.Duration](into *T, text string, tag reflect.StructTag, parse func(string) (T, error)) error {
	v, err := parse(text)
	if err != nil {
		return err
	}
	if low, ok := tag.Lookup("min"); ok {
		if least, _ := parse(low); v < least {
			return fmt.Errorf("is too small; the least is %s", low)
		}
	}
	if high, ok := tag.Lookup("max"); ok {
		if most, _ := parse(high); v > most {
			return fmt.Errorf("is too large; the most is %s", high)
		}
	}
	*into = v
	return nil
}

// checkWord checks a text against the words its field takes.
func checkWord(text string, tag reflect.StructTag) error {
	words := strings.Fields(tag.Get("oneof"))
	if len(words) == 0 || slices.Contains(words, text) {
		return nil
	}
	if slices.Contains(strings.Fields(tag.Get("later")), text) {
		return fmt.Errorf("%s is not supported by this version; allowed: %s", text, strings.Join(words, ", "))
	}
	return fmt.Errorf("is not one of the allowed words: %s", strings.Join(words, ", "))
}

// setDefaults fills a struct from its default tags. A default that does not fit
// its own field is a mistake in this package.
func setDefaults(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type.Kind() == reflect.Struct && f.IsExported() {
			setDefaults(v.Field(i))
		}
		if text, ok := f.Tag.Lookup("default"); ok {
			setDefault(v.Field(i), text, f.Tag)
		}
	}
}

func setDefault(into reflect.Value, text string, tag reflect.StructTag) {
	switch p := into.Addr().Interface().(type) {
	case *Props:
		p.All = text == "pass"
	case *[]string:
		*p = strings.Split(text, ",")
	case *[]AllowRule:
		*p = []AllowRule{{Name: text}}
	default:
		if err := setScalar(into, text, tag); err != nil {
			panic(fmt.Sprintf("config: default %q %v", text, err))
		}
	}
}

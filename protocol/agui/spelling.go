package agui

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// keySet sees the keys of one object and says which came before. Sixteen fit
// without allocating; an object with more costs a map.
type keySet struct {
	n    int
	keys [16][]byte
	more map[string]struct{}
}

// add reports whether key is new.
func (s *keySet) add(key []byte) bool {
	for _, k := range s.keys[:s.n] {
		if bytes.Equal(k, key) {
			return false
		}
	}
	if s.n < len(s.keys) {
		s.keys[s.n] = key
		s.n++
		return true
	}
	if s.more == nil {
		s.more = make(map[string]struct{})
	}
	if _, dup := s.more[string(key)]; dup {
		return false
	}
	s.more[string(key)] = struct{}{}
	return true
}

// misspells reports whether key is another spelling of the protocol key right:
// other case, or other separators, so that one parser would read it as that key
// and another would not [SEC-1]. Case folds as in encoding/json, Unicode
// included.
func misspells(key []byte, right string) bool {
	j := 0
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case c >= utf8.RuneSelf:
			return foldsTo(string(key), right)
		case separator(c):
			continue
		case j == len(right) || lower(c) != lower(right[j]):
			return false
		}
		j++
	}
	return j == len(right) && string(key) != right
}

func foldsTo(key, right string) bool {
	return strings.EqualFold(strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && separator(byte(r)) {
			return -1
		}
		return r
	}, key), right)
}

func separator(c byte) bool { return c == '_' || c == '-' || c == '.' || c == ' ' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// misspelt gives the first key of the set that is another spelling of a key of
// the object s, and the right one.
func (k *keySet) misspelt(s *shape) (key []byte, right string) {
	for _, key := range k.keys[:k.n] {
		if s.index(key) < 0 {
			if right := s.misspelt(key); right != "" {
				return key, right
			}
		}
	}
	for key := range k.more {
		if s.index([]byte(key)) < 0 {
			if right := s.misspelt([]byte(key)); right != "" {
				return []byte(key), right
			}
		}
	}
	return nil, ""
}

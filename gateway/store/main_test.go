package store

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is its own child: a process that can be killed.
func TestMain(m *testing.M) {
	switch os.Getenv("STORE_TEST_CHILD") {
	case "":
		goleak.VerifyTestMain(m)
	case "write":
		childWrites(os.Getenv("STORE_TEST_DIR"))
	case "hold":
		childHolds(os.Getenv("STORE_TEST_DIR"))
	}
}

// childWrites counts up one record and says each number once it is acknowledged.
func childWrites(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	n, rev := 0, uint64(0)
	if rec, err := s.Get(ctx, Rounds, "counter"); err == nil {
		n, rev = number(rec.Value), rec.Revision
	} else if rev, err = s.Create(ctx, Rounds, "counter", counter(0)); err != nil {
		panic(err)
	}
	for {
		n++
		if rev, err = s.Update(ctx, Rounds, "counter", counter(n), rev); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stdout, "ack %d\n", n)
	}
}

func childHolds(dir string) {
	if _, err := Open(context.Background(), Options{Dir: dir}); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, "ack 0")
	time.Sleep(time.Minute) // killed long before
}

func counter(n int) []byte { return []byte(fmt.Sprintf("%09d%0300d", n, 0)) }

func number(value []byte) int {
	n, err := strconv.Atoi(string(value[:9]))
	if err != nil {
		panic(err)
	}
	return n
}

func open(t testing.TB, o Options) *Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t testing.TB, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

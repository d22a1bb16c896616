package store

import (
	"context"
	"errors"
	"time"
)

// Next waits for the entry behind the last one. Its errors: ErrGap, after which
// it goes on; ErrClosed; a fault around the error of the ctx that ended, its own
// or Follow's. While the store does not answer it waits.
func (f *Follower) Next(ctx context.Context) (Entry, error) {
	for {
		if err := f.over(ctx); err != nil {
			return Entry{}, err
		}
		switch {
		case f.gap:
			f.gap = false
			return Entry{}, ErrGap
		case len(f.page) > 0:
			e := f.page[0]
			f.page[0] = Entry{}
			f.page = f.page[1:]
			f.last = e.Seq
			return e, nil
		case f.behind:
			if f.read(ctx) != nil {
				f.look = time.Now().Add(firstLook)
				f.wait(ctx)
			}
			continue
		}
		a, some, missed := f.take()
		switch {
		case missed:
			f.behind, f.pause = true, firstLook
		case !some:
			f.wait(ctx)
		case a.Seq <= f.last: // read from the log already
		case a.before != f.last:
			f.behind = true
		default:
			f.last = a.Seq
			return a.Entry, nil
		}
	}
}

// over is why Next has to end, nil when it need not.
func (f *Follower) over(ctx context.Context) error {
	if f.ctx.Err() != nil {
		if cause := context.Cause(f.ctx); !errors.Is(cause, ErrClosed) {
			return unavailable(cause)
		}
		return ErrClosed
	}
	if ctx.Err() != nil {
		return unavailable(context.Cause(ctx))
	}
	return nil
}

// wait waits for news or the time to look by itself.
func (f *Follower) wait(ctx context.Context) {
	t := time.NewTimer(time.Until(f.look))
	defer t.Stop()
	select {
	case <-f.news:
	case <-t.C:
		f.behind = true
	case <-f.ctx.Done():
	case <-ctx.Done():
	}
}

// read fills page from the log; when nothing is there, it sets the time of the
// next look.
func (f *Follower) read(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(f.ctx, stop)()
	select {
	case f.s.log.reads <- struct{}{}:
		defer func() { <-f.s.log.reads }()
	case <-ctx.Done():
		return ctx.Err()
	}
	entries, err := f.more(ctx)
	if err == nil {
		entries, err = f.prove(ctx, entries)
	}
	if err != nil {
		return err
	}
	f.page = entries
	if len(entries) == 0 && !f.gap {
		f.behind, f.look, f.pause = false, time.Now().Add(f.pause), min(2*f.pause, lastLook)
	}
	return nil
}

// more reads what is behind the last entry: pages while they bring something,
// then one by the leader, which alone knows that there is no more.
func (f *Follower) more(ctx context.Context) (entries []Entry, err error) {
	if f.paging {
		entries, f.paging, err = f.s.page(ctx, f.key, f.last+1)
		if err != nil || len(entries) > 0 {
			return entries, err
		}
	}
	e, err := f.s.entry(ctx, f.key, getRequest{Seq: f.last + 1, NextFor: f.s.entrySubject(f.key)})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.paging = true
	return []Entry{e}, nil
}

// prove tells a gap unless the last entry is still kept, which must be asked
// after the read: then nothing behind it had gone when it was read. Of entries
// read behind a gap only the first is sure to have none before it.
func (f *Follower) prove(ctx context.Context, entries []Entry) ([]Entry, error) {
	if f.last > 0 && (f.fresh || len(entries) > 0) {
		_, err := f.s.entry(ctx, f.key, getRequest{Seq: f.last})
		switch {
		case errors.Is(err, ErrNotFound) && f.fresh:
			f.gap, f.last, entries = true, 0, nil
		case errors.Is(err, ErrNotFound):
			f.gap, entries = true, entries[:1]
		case err != nil:
			return nil, err
		}
	}
	f.fresh = false
	return entries, nil
}

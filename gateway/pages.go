package gateway

import (
	"context"
	"encoding/json"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// A thread's record holds the newest entries of its transcript itself, up to
// tailBytes; then they become a page of their own, which is written once and never
// again. So what a run writes does not grow with the conversation [HIST-1].
const (
	tailBytes = 8 << 10
	pageBytes = 1 << 20 // of one page, unless a single message is larger
	maxEntry  = 6 << 20 // of one message; what is larger is kept without its content
)

// cachedThreads is how many threads' closed pages stay indexed in memory, without
// the messages' content; cachedItems how many messages one of them may have for it.
const (
	cachedThreads = 512
	cachedItems   = 4096
)

// closedPages is the index of a thread's pages up to and with one.
type closedPages struct {
	page  string
	index *transcript.Index
}

// history is a thread's transcript as one run, or one reader, sees it.
type history struct {
	index *transcript.Index
	page  string             // newest closed page
	tail  []transcript.Entry // behind it
}

// space names what belongs to this incarnation of a thread in the other buckets.
func (t *thread) space() string { return store.Key(t.key, t.Born) }

// loadHistory indexes a thread's transcript: closed pages from memory as far as
// they are there, the tail from the record.
func (g *Gateway) loadHistory(ctx context.Context, t *thread) (*history, error) {
	base, err := g.closed(ctx, t)
	if err != nil {
		return nil, err
	}
	h := &history{index: transcript.NewIndex(base), page: t.Page, tail: append([]transcript.Entry(nil), t.Tail...)}
	for i := range h.tail {
		h.index.Add(&h.tail[i], transcript.Place{Slot: i})
	}
	return h, nil
}

// closed gives the index of the closed pages, nil when there are none.
func (g *Gateway) closed(ctx context.Context, t *thread) (*transcript.Index, error) {
	if t.Page == "" {
		return nil, nil
	}
	var base *transcript.Index
	known, ok := g.pages.Get(t.space())
	if ok && known.page == t.Page {
		return known.index, nil
	}
	var keys []string // newest first
	var pages []*transcript.Page
	for key := t.Page; key != ""; {
		if ok && key == known.page {
			base = known.index
			break
		}
		p, err := g.loadPage(ctx, key)
		if err != nil {
			return nil, err
		}
		keys, pages, key = append(keys, key), append(pages, p), p.Prev
	}
	x := transcript.NewIndex(base)
	for i := len(pages) - 1; i >= 0; i-- {
		for slot := range pages[i].Entries {
			x.Add(&pages[i].Entries[slot], transcript.Place{Page: keys[i], Slot: slot})
		}
	}
	x = x.Flat()
	g.keepClosed(t, t.Page, x)
	return x, nil
}

func (g *Gateway) keepClosed(t *thread, page string, x *transcript.Index) {
	if x.Len() <= cachedItems {
		g.pages.Add(t.space(), closedPages{page: page, index: x})
	}
}

func (g *Gateway) loadPage(ctx context.Context, key string) (*transcript.Page, error) {
	rec, err := g.store.Get(ctx, store.Messages, key)
	if err != nil {
		return nil, err
	}
	p := new(transcript.Page)
	if err := json.Unmarshal(rec.Value, p); err != nil {
		return nil, fault.New(fault.StoreUnavailable, "a part of this thread's messages cannot be read").Because(err)
	}
	return p, nil
}

// add enters one message, or a newer version of one, and gives its place.
func (h *history) add(e transcript.Entry) int {
	if len(e.Raw) > maxEntry {
		if m, err := agui.ReadMessage(e.Raw); err == nil {
			e.Raw = transcript.Bare(m).Raw
		}
	}
	at := h.index.Len()
	if e.Over > 0 {
		at = e.Over - 1
	}
	h.tail = append(h.tail, e)
	h.index.Add(&h.tail[len(h.tail)-1], transcript.Place{Slot: len(h.tail) - 1})
	return at
}

// turnPage closes the tail if it is long enough. A page that is written and then
// not entered in the thread's record harms nobody.
func (g *Gateway) turnPage(ctx context.Context, t *thread, h *history) error {
	size := 0
	for i := range h.tail {
		size += h.tail[i].Size()
	}
	if size <= tailBytes {
		return nil
	}
	for len(h.tail) > 0 {
		n, size := 0, 0
		for n < len(h.tail) && (n == 0 || size+h.tail[n].Size() <= pageBytes) {
			size += h.tail[n].Size()
			n++
		}
		value, err := encode(transcript.Page{Prev: h.page, Entries: h.tail[:n]})
		if err != nil {
			return err
		}
		key := t.space() + "." + newID()
		if _, err := g.store.Create(ctx, store.Messages, key, value); err != nil {
			return err
		}
		h.index.Moved(key, n)
		h.page, h.tail = key, h.tail[n:]
	}
	h.tail = nil
	g.keepClosed(t, h.page, h.index.Flat())
	return nil
}

// messages reads the content of places, in the order given. A message that cannot
// be read is left out.
func (g *Gateway) messages(ctx context.Context, h *history, places []int) ([]agui.Message, error) {
	pages := map[string]*transcript.Page{}
	out := make([]agui.Message, 0, len(places))
	for _, at := range places {
		where := h.index.At(at).Where
		entries := h.tail
		if where.Page != "" {
			p := pages[where.Page]
			if p == nil {
				var err error
				if p, err = g.loadPage(ctx, where.Page); err != nil {
					return nil, err
				}
				pages[where.Page] = p
			}
			entries = p.Entries
		}
		if where.Slot >= len(entries) {
			continue
		}
		if m, err := agui.ReadMessage(entries[where.Slot].Raw); err == nil {
			out = append(out, m)
		}
	}
	return out, nil
}

package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

var dbgRuns sync.Map

func dbg(c *linCase, model porcupine.Model, ops []porcupine.Operation) {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	b := time.Now()
	res, info := porcupine.CheckOperationsVerbose(model, ops, 3*time.Second)
	fmt.Println(c.ref, res, time.Since(b), len(ops), "doubt", len(c.h.doubt))
	rd, err := c.w.gateways[0].loadRound(context.Background(), c.round)
	if err == nil {
		fmt.Printf("duty %+v\n", rd.Duty)
	}
	dbgRuns.Range(func(k, v any) bool {
		if strings.HasPrefix(k.(string), c.ref.Thread+"/") {
			fmt.Println("run", k, v)
		}
		return true
	})
	longest := 0
	for _, p := range info.PartialLinearizationsOperations()[0] {
		longest = max(longest, len(p))
	}
	fmt.Println("longest", longest)
	for _, p := range info.PartialLinearizationsOperations()[0] {
		if len(p) == longest {
			in := map[string]bool{}
			s := model.Init()
			for _, o := range p {
				_, s = model.Step(s, o.Input, o.Output)
				in[fmt.Sprint(o.Call, o.Input)] = true
			}
			fmt.Printf("state %+v\n", s)
			for _, o := range ops {
				mark := " "
				if !in[fmt.Sprint(o.Call, o.Input)] {
					mark = "*"
				}
				fmt.Printf("%s %7d-%7d %s\n", mark, o.Call/1000, o.Return/1000, model.DescribeOperation(o.Input, o.Output))
			}
			break
		}
	}
}

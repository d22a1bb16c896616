package conversation
import ("testing";"math/rand";"github.com/google/go-cmp/cmp";"time")
func TestZZ(t *testing.T){
 end:=time.Now().Add(40*time.Second)
 fails:=0
 n:=0
 for time.Now().Before(end) && fails<3 {
  n++
  c:=make([]byte,3*(3+rand.Intn(40))); rand.Read(c)
  frames:=legalRun(c)
  cut:=1+rand.Intn(len(frames))
  whole := built(someBase, frames...)
  joined := append(append(frames[:1:1], built(someBase, frames[:cut]...).CatchUp()...), frames[cut:]...)
  if err:=legal(joined); err!=nil { fails++; t.Errorf("%v\n%s\nat %d\n%s",err,dump(frames),cut,dump(joined)); continue}
  if d:=cmp.Diff(reachable(t,whole),reachable(t,built(someBase,joined...))); d!="" {fails++; t.Errorf("%v\n%s\nat %d\n%s",d,dump(frames),cut,dump(joined))}
 }
 t.Log(n)
}

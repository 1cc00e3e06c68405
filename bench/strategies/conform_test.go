package strategies

import (
	"fmt"
	"strings"
	"testing"
)

func TestConform_letsOnlyHonestEnginesPass(t *testing.T) {
	for lie, want := range map[string]string{
		"": "", "get": "strategy binary: read: ", "scan": "strategy binary: ",
		"put": "strategy binary: read",
	} {
		job := tinyJob(t, "bbolt", 0)
		job.Rows = []string{rowStorage} // must not keep it from reading
		err := conform(job, users(t, 1), openLiar(lie))
		if got := fmt.Sprint(err); !strings.HasPrefix(got, want) || (err == nil) != (lie == "") {
			t.Errorf("lie %q: %v", lie, err)
		}
	}
}

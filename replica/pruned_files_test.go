package replica

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"
)

// A replica that has pruned takes an older file, and answers a device that is behind.
func TestPrune_filesOfReplicasBehind(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	for id := range int64(20) {
		a.put(task{ID: id, Title: "t"})
	}
	together(t, a, b)
	var older bytes.Buffer
	must(t, Export(context.Background(), b.space, &older))
	for id := range int64(20) {
		a.put(task{ID: id, Title: "later"})
	}
	together(t, a, b)
	must(t, a.checkpoint())
	together(t, a, b)
	must(t, a.space.Prune())
	must(t, Import(context.Background(), a.space, &older))
	server := httptest.NewServer(Handler([]*Space{a.space}, nil))
	defer server.Close()
	b.put(task{ID: 30, Title: "by post"})
	must(t, Post(context.Background(), b.space, server.URL, nil))
	agree(t, a, b)
}

package raftstore_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/raftstore"
)

// A server of a cluster, here the only one, keeps its log and its state in Stoat.
func Example() {
	dir, err := os.MkdirTemp("", "raftstore-")
	check(err)
	defer os.RemoveAll(dir)

	logs, err := stoat.Open(filepath.Join(dir, "log"), nil)
	check(err)
	defer logs.Close()
	store, err := raftstore.New(logs, "raft")
	check(err)

	machine, err := raftstore.OpenMachine(filepath.Join(dir, "state"), nil, setColour)
	check(err)
	defer machine.Close()
	snapshots, err := raft.NewFileSnapshotStore(dir, 2, io.Discard)
	check(err)

	config := raft.DefaultConfig()
	config.LocalID, config.Logger = "server 1", hclog.NewNullLogger()
	config.NoSnapshotRestoreOnStart, err = machine.Holds(snapshots)
	check(err)
	address, transport := raft.NewInmemTransport("")
	server, err := raft.NewRaft(config, machine, store, store, snapshots, transport)
	check(err)
	check(server.BootstrapCluster(raft.Configuration{
		Servers: []raft.Server{{ID: config.LocalID, Address: address}},
	}).Error())
	<-server.LeaderCh()

	check(server.Apply([]byte("brown"), time.Second).Error()) // lost by no minority of the servers
	check(machine.View(func(tx *stoat.Tx) error {
		colour, err := tx.Get([]byte("colour"))
		fmt.Printf("The stoat is %s.\n", colour)
		return err
	}))
	check(server.Shutdown().Error())
	// Output: The stoat is brown.
}

func setColour(tx *stoat.Tx, command *raft.Log) any {
	return tx.Put([]byte("colour"), command.Data)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package replica

// advance makes a checkpoint the horizon. It keeps the states that it is about, and replays the
// records that other entries touch.
func (t *txn) advance(c *candidate, next *horizon) error {
	if err := t.replayMarked(); err != nil { // what was to be replayed under the old one
		return err
	}
	if err := t.dropBases(next.number); err != nil { // of this one, if it is its own, or of a rival
		return err
	}
	if err := t.uncut(next.covers); err != nil {
		return err
	}
	if err := t.markBeyond(next.covers); err != nil {
		return err
	}
	if err := t.putBases(next.covers, next.number); err != nil {
		return err
	}
	if err := t.settleVerdicts(next.covers); err != nil {
		return err
	}
	if err := t.dropBasesBefore(next.number); err != nil {
		return err
	}
	if err := t.putHorizon(next); err != nil {
		return err
	}
	t.space.retryLater()
	if pruned, err := t.hasPruned(); err != nil {
		return err
	} else if pruned { // what is missing cannot be computed again
		if err := t.passHorizon(next.covers); err != nil {
			return err
		}
	}
	if err := t.judgeAllRepeats(); err != nil {
		return err
	}
	if err := t.judgeLateAll(next); err != nil {
		return err
	}
	if err := t.dropCandidates(c, next.covers); err != nil {
		return err
	}
	if err := t.dropNeedlessStart(); err != nil {
		return err
	}
	return t.leaveLate(nil)
}

// dropNeedlessStart ends a start with a checkpoint of which all entries have arrived.
func (t *txn) dropNeedlessStart() error {
	begun, err := t.begun()
	if err != nil || begun == nil {
		return err
	}
	if lacks, err := t.lacksCovered(begun.act); err != nil || lacks {
		return err
	}
	return t.unstage()
}

// uncut lets what a checkpoint covers of logs that are cut count.
func (t *txn) uncut(covers vector) error {
	for number, n := range covers {
		h, err := t.head(number)
		if err != nil {
			return err
		}
		if h.cut == 0 || h.cut >= n {
			continue
		}
		end := *h
		end.cut = n
		err = t.moveCut(&end, h.cut, n, nil)
		if err == nil {
			err = t.voteAgain()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

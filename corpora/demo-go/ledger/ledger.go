// Package ledger keeps what people paid for each other.
package ledger

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"example.com/household/internal/text"
	"example.com/household/money"
)

// Entry is something that one person paid for several.
type Entry struct {
	Title  string
	Payer  string
	Amount money.Amount
	// Who shares it; the payer may be among them.
	Sharers []string
}

// Ledger is a list of entries.
type Ledger struct {
	people  []string // In the order of names.
	entries []Entry
}

// Errors of entries that can't be added.
var (
	ErrUnknown   = errors.New("unknown person")
	ErrNobody    = errors.New("nobody shares it")
	ErrNoPayment = errors.New("nothing was paid")
)

// New is an empty ledger for people.
func New(people ...string) *Ledger {
	known := slices.Clone(people)
	slices.Sort(known)
	return &Ledger{people: slices.Compact(known)}
}

// Add adds an entry.
func (l *Ledger) Add(entry Entry) error {
	if entry.Amount <= 0 {
		return fmt.Errorf("%s: %w", entry.Title, ErrNoPayment)
	}
	if len(entry.Sharers) == 0 {
		return fmt.Errorf("%s: %w", entry.Title, ErrNobody)
	}
	for _, person := range append([]string{entry.Payer}, entry.Sharers...) {
		if !slices.Contains(l.people, person) {
			return fmt.Errorf("%s: %s: %w", entry.Title, person, ErrUnknown)
		}
	}
	l.entries = append(l.entries, entry)
	return nil
}

// Len is the number of entries.
func (l *Ledger) Len() int {
	return len(l.entries)
}

// Balances are what people are owed, or owe if negative. They add up to nothing.
func (l *Ledger) Balances() map[string]money.Amount {
	balances := make(map[string]money.Amount, len(l.people))
	for _, person := range l.people {
		balances[person] = 0
	}
	for _, entry := range l.entries {
		balances[entry.Payer] += entry.Amount
		shares := entry.Amount.Split(len(entry.Sharers))
		for i, person := range entry.Sharers {
			balances[person] -= shares[i]
		}
	}
	return balances
}

// Payment is what one person has to give another.
type Payment struct {
	From, To string
	Amount   money.Amount
}

// String is the payment as a sentence.
func (p Payment) String() string {
	return fmt.Sprintf("%s pays %s %s", p.From, p.To, p.Amount)
}

// Settle lists payments after which nobody owes anything: who owes the most pays who is owed the
// most, until all are even.
func (l *Ledger) Settle() []Payment {
	type account struct {
		person string
		amount money.Amount
	}
	var debtors, creditors []account
	balances := l.Balances()
	for _, person := range l.people {
		amount := balances[person]
		switch {
		case amount < 0:
			debtors = append(debtors, account{person, -amount})
		case amount > 0:
			creditors = append(creditors, account{person, amount})
		}
	}
	largest := func(accounts []account) {
		sort.Slice(accounts, func(i, j int) bool {
			if accounts[i].amount != accounts[j].amount {
				return accounts[i].amount > accounts[j].amount
			}
			return accounts[i].person < accounts[j].person
		})
	}
	var payments []Payment
	for len(debtors) > 0 && len(creditors) > 0 {
		largest(debtors)
		largest(creditors)
		paid := min(debtors[0].amount, creditors[0].amount)
		payments = append(payments, Payment{debtors[0].person, creditors[0].person, paid})
		debtors[0].amount -= paid
		creditors[0].amount -= paid
		if debtors[0].amount == 0 {
			debtors = debtors[1:]
		}
		if creditors[0].amount == 0 {
			creditors = creditors[1:]
		}
	}
	return payments
}

// Paid is what a person paid in all.
func (l *Ledger) Paid(person string) money.Amount {
	var total money.Amount
	for _, entry := range l.entries {
		if entry.Payer == person {
			total += entry.Amount
		}
	}
	return total
}

// Largest is the entry with the highest amount, the first of several; false if there is none.
func (l *Ledger) Largest() (Entry, bool) {
	var largest Entry
	for _, entry := range l.entries {
		if entry.Amount > largest.Amount {
			largest = entry
		}
	}
	return largest, len(l.entries) > 0
}

// Summary is a table of the balances, the names in order, and a line for each payment.
func (l *Ledger) Summary() string {
	balances := l.Balances()
	var rows [][]string
	for _, person := range l.people {
		rows = append(rows, []string{person, balances[person].String()})
	}
	summary := text.Columns(rows)
	for _, payment := range l.Settle() {
		summary += "\n" + payment.String()
	}
	return summary
}

// Features of Go that a recording could disturb: goroutines, channels, timers, signals, children.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	variables := os.Environ()
	sort.Strings(variables)
	for _, each := range variables {
		fmt.Println("variable", strings.SplitN(each, "=", 2)[0])
	}
	var mutex sync.Mutex
	var group sync.WaitGroup
	total := 0
	for i := 0; i < 50; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 500; j++ {
				mutex.Lock()
				total++
				mutex.Unlock()
			}
			time.Sleep(time.Millisecond)
		}()
	}
	group.Wait()
	words := make(chan int)
	go func() {
		for i := 0; i < 1000; i++ {
			words <- i
		}
		close(words)
	}()
	sum := 0
	for each := range words {
		sum += each
	}
	fmt.Println("counted", total, "sum", sum)
	notices := make(chan os.Signal, 1)
	signal.Notify(notices, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println("signal", <-notices)
	func() {
		defer func() { fmt.Println("recovered", recover() != nil) }()
		var nothing *int
		*nothing = 1
	}()
	child := exec.Command("sh", "-c", "env | grep -c -e THREADMARK -e PRELOAD; exit 4")
	said, err := child.Output()
	fmt.Println("child", strings.TrimSpace(string(said)), err)
	os.Exit(5)
}

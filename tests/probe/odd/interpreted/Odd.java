// Features of Java that a recording could disturb: monitors, pools, faults that its machine catches
// by signals, interruption, children, hooks at the end.
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

public class Odd {
    static long total = 0;
    static int[] nothing = null;

    static synchronized void add() { total++; }

    public static void main(String[] words) throws Exception {
        System.out.println("variables " + new TreeSet<>(System.getenv().keySet()));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(new Thread(() -> { for (int j = 0; j < 20000; j++) add(); }));
            threads.get(i).start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println("counted " + total);
        int caught = 0;
        for (int i = 0; i < 20000; i++) {
            try { caught += nothing[0]; } catch (NullPointerException e) { caught++; }
        }
        System.out.println("caught " + caught);
        try { deep(0); } catch (StackOverflowError e) { System.out.println("overflowed"); }
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 50; i++) { final int n = i; results.add(pool.submit(() -> n * n)); }
        int sum = 0;
        for (Future<Integer> each : results) sum += each.get();
        pool.shutdown();
        ReentrantLock lock = new ReentrantLock();
        lock.lock();
        AtomicBoolean interrupted = new AtomicBoolean();
        Thread waiter = new Thread(() -> {
            try { lock.lockInterruptibly(); } catch (InterruptedException e) { interrupted.set(true); }
        });
        waiter.start();
        Thread.sleep(5);
        waiter.interrupt();
        waiter.join();
        System.out.println("sum " + sum + ", interrupted " + interrupted);
        System.gc();
        Process child = new ProcessBuilder("sh", "-c", "env | grep -c -e THREADMARK -e PRELOAD; exit 4").start();
        String said = new String(child.getInputStream().readAllBytes()).trim();
        System.out.println("child " + said + " " + child.waitFor());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("at the end")));
        System.exit(5);
    }

    static int deep(int n) { return deep(n + 1) + 1; }
}

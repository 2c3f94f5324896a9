package org.example;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;

@State(Scope.Benchmark)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Copy {
    @Param({"100", "1000"})
    int n;
    byte[] bytes;

    @Setup
    public void fill() {
        bytes = new byte[n];
    }

    @Benchmark
    @BenchmarkMode({Mode.Throughput, Mode.SampleTime})
    public byte[] copy() {
        return bytes.clone();
    }

    @Benchmark
    @BenchmarkMode(Mode.SingleShotTime)
    public int fail() {
        if (n == 1000) throw new IllegalStateException("no");
        return n;
    }
}

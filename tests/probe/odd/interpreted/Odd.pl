# Features of Perl that a recording could disturb: children, pipes, signals, alarms, its variables.
use strict;
use warnings;
use Time::HiRes qw(ualarm sleep);

$| = 1;
print "variables ", join(",", sort keys %ENV), "\n";
my $alarms = 0;
$SIG{ALRM} = sub { $alarms++ };
ualarm(100_000);
my $slept = sleep(1);
print "alarm $alarms, woken early ", ($slept < 0.9 ? "yes" : "no"), "\n";
my @statuses;
for my $i (1 .. 4) {
    my $pid = fork();
    exit $i unless $pid;
    waitpid($pid, 0);
    push @statuses, $? >> 8;
}
print "statuses @statuses\n";
open(my $pipe, "-|", "env | wc -l; kill -TERM \$\$") or die;
print "child ", scalar(<$pipe>) =~ /\d/ ? "spoke" : "silent";
close($pipe);
print ", signal ", $? & 127, "\n";
system("exit 6");
print "system ", $? >> 8, "\n";
opendir(my $folder, "/proc/self/fd") or die;
print "descriptors ", join(",", sort grep { /\d/ } readdir($folder)), "\n";
exit 5;

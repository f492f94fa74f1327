/**
 * What the gateway does on a bad night, measured: `node scripts/launch.mjs prove broken-streams|overload|drain|stalled|crowd|soak|monitoring|cluster [--minutes N]`.
 * Everything runs on this machine's loopback and ends by itself; `dist/gateway` is measured where it exists, the sources where it does not.
 */
import { endAll } from '../cli/bench/processes.ts';
import { type Goal, isMet, printGoals } from './bench/goals.ts';
import { brokenStreams } from './prove/broken-streams.ts';
import { cluster } from './prove/cluster.ts';
import { crowd } from './prove/crowd.ts';
import { drain } from './prove/drain.ts';
import { monitoringProof } from './prove/monitoring.ts';
import { overload } from './prove/overload.ts';
import { soak } from './prove/soak.ts';
import { stalled } from './prove/stalled.ts';

const proofs: Readonly<Record<string, (args: readonly string[]) => Promise<readonly Goal[]>>> = {
  'broken-streams': brokenStreams,
  overload,
  drain,
  stalled,
  crowd,
  soak,
  monitoring: monitoringProof,
  cluster,
};

const [name = '', ...args] = process.argv.slice(2);
const proof = proofs[name];
if (proof === undefined) {
  console.error(`one of: ${Object.keys(proofs).join(', ')}`);
  process.exit(2);
}
let goals: readonly Goal[] = [];
try {
  goals = await proof(args);
} finally {
  await endAll();
}
printGoals(goals);
process.exit(goals.every(isMet) ? 0 : 1);

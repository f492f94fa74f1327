/**
 * What the gateway does on a bad night, measured: `node scripts/launch.mjs lab/prove/prove broken-streams|overload|drain|stalled|crowd|soak|monitoring|cluster [--minutes N]`.
 * Everything runs on this machine's loopback and ends by itself; `dist/gateway` is measured where it exists, the sources where it does not.
 */
import { endAll } from '../../../cli/bench/process.ts';
import { type Goal, isMet, printGoals } from '../bench/goal.ts';
import { brokenStreams } from './broken-streams.ts';
import { cluster } from './cluster.ts';
import { drain } from './drain.ts';
import { monitoringProof } from './monitor.ts';
import { overload } from './overload.ts';
import { soak } from './soak.ts';
import { stalled } from './stalled.ts';
import { crowd } from './users.ts';

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

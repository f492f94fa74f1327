/**
 * What the gateway does on a bad night, measured: `node scripts/launch.mjs lab/prove/prove broken-streams|overload|drain|power-cuts|kills|take-overs|stalled|crowd|soak|monitoring|cluster|hostile|large-bodies|proxies [--minutes N]`.
 * Everything runs on this machine's loopback and ends by itself; `dist/gateway` is measured where it exists, the sources where it does not.
 */
import { endAll } from '../../../cli/bench/process.ts';
import { type Goal, isReached, printReport } from '../bench/goal.ts';
import { brokenStreams } from './broken-streams.ts';
import { cluster } from './cluster.ts';
import { drain } from './drain.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { kills } from './kills.ts';
import { largeBodies } from './large-bodies.ts';
import { checkMonitoring } from './monitor.ts';
import { overload } from './overload.ts';
import { powerCuts } from './power-cuts.ts';
import { proxiesBetween } from './proxies.ts';
import { slowClients } from './slow-clients.ts';
import { soak } from './soak.ts';
import { takeOvers } from './take-overs.ts';
import { manyUsers } from './users.ts';

const checks: Readonly<Record<string, (args: readonly string[]) => Promise<readonly Goal[]>>> = {
  'broken-streams': brokenStreams,
  overload,
  drain,
  'power-cuts': powerCuts,
  kills,
  'take-overs': takeOvers,
  stalled: slowClients,
  crowd: manyUsers,
  soak,
  monitoring: checkMonitoring,
  cluster,
  hostile: hostileBodies,
  'large-bodies': largeBodies,
  proxies: proxiesBetween,
};

const [name = '', ...args] = process.argv.slice(2);
const check = checks[name];
if (check === undefined) {
  console.error(`one of: ${Object.keys(checks).join(', ')}`);
  process.exit(2);
}
let goals: readonly Goal[] = [];
try {
  goals = await check(args);
} finally {
  await endAll();
}
printReport(goals);
process.exit(goals.every(isReached) ? 0 : 1);

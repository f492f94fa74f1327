/** Walks 5,000 random chains and failures, or as many as are asked for: node scripts/launch.mjs lab/chains/random [count] [seed] */
import { chainCases, runChainCase } from './cases.ts';

const count = Number(process.argv[2] ?? 5000);
const seed = Number(process.argv[3] ?? 20_261_129);
const wrong = chainCases(seed, count).flatMap(runChainCase);
for (const line of wrong.slice(0, 20)) process.stdout.write(`${line}\n`);
process.stdout.write(`${count} random sets of chains, seed ${seed}: ${wrong.length} wrong\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;

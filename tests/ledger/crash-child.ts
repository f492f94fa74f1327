/** Spends, redeems, pays, rewards, transfers and refunds until it is killed; says which commands are durable. Arguments: database file, round. */
import { openDatabase } from '../../db/open.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { createDirectLedger } from '../../server/threads/ledger/direct.ts';
import { redeem, refund, reserve, reward, settle, topUp, transfer } from './support.ts';

const [file = '', round = '0'] = process.argv.slice(2);
const ledger = createDirectLedger(openDatabase(file));
const perRound = 400;

function commandsOf(step: number): LedgerCommand[] {
  const id = Number(round) * perRound + step;
  const user = 1 + (step % 2);
  const ref = `r${id}`;
  return [
    reserve(`h${id}`, user, 3),
    settle(ref, user, 1 + (step % 9)),
    ...(step % 5 === 0 ? [settle(`h${id}`, user, 2)] : []),
    redeem(id, user, 100),
    topUp(`t${id}`, 1, 70),
    reward(id, user, 20),
    transfer(String(id), user, 10),
    ...(step % 3 === 0 ? [refund(ref, user, 1)] : []),
  ];
}

for (let step = 1; step < perRound; step++) {
  await Promise.all(
    commandsOf(step).map(async (command) => {
      const { status } = await ledger.execute(command);
      if (status === 'done' && command.type !== 'hold') process.stdout.write(`${command.ref}\n`);
    }),
  );
}
await new Promise(() => setInterval(() => undefined, 1000));

/** A walk through what lives for minutes: everything comes, is used up, is pushed out and is over. */
import type { Repositories } from './heard.ts';

const minute = 60_000;

export async function shortLived({ memos }: Repositories, clock: { at: number }): Promise<void> {
  const start = clock.at;
  const code = { purpose: 'code', key: 'a@x' };
  const other = { purpose: 'code', key: 'b@x' };
  for (const holder of ['one', 'two', 'three', 'four']) {
    clock.at += 1;
    await memos.put(code, { holder, value: `of ${holder}`, until: clock.at + minute }, 3);
  }
  await memos.put(other, { holder: 'one', value: 'of one', until: clock.at + minute }, 3);
  for (const value of ['of one', 'of two', 'of four', 'of none', '']) await memos.has(code, value);
  await memos.put(code, { holder: 'two', value: 'again', until: clock.at + minute + 5 }, 3);
  for (const value of ['of two', 'again', 'again', 'of three']) await memos.take(code, value);
  await memos.has(code);
  clock.at += minute;
  await memos.take(code, 'of four');
  await memos.has(code);
  await memos.put(code, { holder: 'five', value: 'of five', until: clock.at + minute }, 1);
  await memos.drop(code);
  await memos.has(code, 'of five');
  await memos.has(other);

  const ticket = { purpose: 'ticket', key: 't' };
  for (let n = 0; n < 4; n++) {
    await memos.claim(ticket, clock.at + minute);
    clock.at += minute / 2;
  }
  await memos.drop(ticket);
  await memos.claim(ticket, clock.at + minute);
  await memos.claim({ purpose: 'another', key: 't' }, clock.at + minute);

  const letters = { purpose: 'letters', key: '::1' };
  for (let n = 0; n < 5; n++) await memos.count(letters, minute, 3);
  await memos.counted(letters);
  await memos.uncount(letters);
  await memos.count(letters, minute, 3);
  clock.at += minute;
  await memos.counted(letters);
  await memos.uncount(letters);
  await memos.count(letters, minute, 3);
  for (let n = 0; n < 3; n++) await memos.uncount(letters);
  await memos.counted(letters);

  const tries = { purpose: 'tries', key: 'x' };
  const queue = { free: 2, apartMs: [1000, 2000, 4000], longestMs: 6000, windowMs: minute };
  for (let n = 0; n < 5; n++) await memos.queue(tries, queue);
  for (let n = 0; n < 12; n++) {
    clock.at += 1700;
    await memos.queue(tries, queue);
  }
  await memos.counted(tries);
  await memos.uncount(tries);
  await memos.queue(tries, queue);
  clock.at += 2 * minute;
  for (let n = 0; n < 4; n++) await memos.queue(tries, queue);
  await memos.queue({ ...tries, key: 'none free' }, { ...queue, free: 0 });
  await memos.queue({ ...tries, key: 'none free' }, { ...queue, free: 0 });
  await memos.sweep();
  await memos.counted(tries);
  clock.at = start + 60 * minute;
  await memos.sweep();
  await memos.has(other);
}

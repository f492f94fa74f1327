/** A walk through what lives for minutes: everything comes, is used up, is pushed out and is over. */
import type { Repositories } from './recording.ts';

const minute = 60_000;

export async function shortLived({ memos: store }: Repositories, clock: { at: number }): Promise<void> {
  const start = clock.at;
  const code = { purpose: 'code', key: 'a@x' };
  const other = { purpose: 'code', key: 'b@x' };
  for (const holder of ['one', 'two', 'three', 'four']) {
    clock.at += 1;
    await store.put(code, { holder, value: `of ${holder}`, until: clock.at + minute }, 3);
  }
  await store.put(other, { holder: 'one', value: 'of one', until: clock.at + minute }, 3);
  for (const value of ['of one', 'of two', 'of four', 'of none', '']) await store.has(code, value);
  await store.put(code, { holder: 'two', value: 'again', until: clock.at + minute + 5 }, 3);
  for (const value of ['of two', 'again', 'again', 'of three']) await store.take(code, value);
  await store.has(code);
  clock.at += minute;
  await store.take(code, 'of four');
  await store.has(code);
  await store.put(code, { holder: 'five', value: 'of five', until: clock.at + minute }, 1);
  await store.drop(code);
  await store.has(code, 'of five');
  await store.has(other);

  const note = { purpose: 'note', key: 'n' };
  for (const words of ['first', 'second']) await store.write(note, words, clock.at + minute);
  await store.read(note);
  clock.at += minute;
  await store.read(note);

  const ticket = { purpose: 'ticket', key: 't' };
  for (let n = 0; n < 4; n++) {
    await store.claim(ticket, clock.at + minute);
    clock.at += minute / 2;
  }
  await store.drop(ticket);
  await store.claim(ticket, clock.at + minute);
  await store.claim({ purpose: 'another', key: 't' }, clock.at + minute);

  const letters = { purpose: 'letters', key: '::1' };
  for (let n = 0; n < 5; n++) await store.count(letters, minute, 3);
  await store.counted(letters);
  await store.uncount(letters);
  await store.count(letters, minute, 3);
  clock.at += minute;
  await store.counted(letters);
  await store.uncount(letters);
  await store.count(letters, minute, 3);
  for (let n = 0; n < 3; n++) await store.uncount(letters);
  await store.counted(letters);

  const attempts = { purpose: 'tries', key: 'x' };
  const queue = { free: 2, delaysMs: [1000, 2000, 4000], maxMs: 6000, windowMs: minute };
  for (let n = 0; n < 5; n++) await store.queue(attempts, queue);
  for (let n = 0; n < 12; n++) {
    clock.at += 1700;
    await store.queue(attempts, queue);
  }
  await store.counted(attempts);
  await store.uncount(attempts);
  await store.queue(attempts, queue);
  clock.at += 2 * minute;
  for (let n = 0; n < 4; n++) await store.queue(attempts, queue);
  await store.queue({ ...attempts, key: 'none free' }, { ...queue, free: 0 });
  await store.queue({ ...attempts, key: 'none free' }, { ...queue, free: 0 });
  await store.cleanup();
  await store.counted(attempts);
  clock.at = start + 60 * minute;
  await store.cleanup();
  await store.has(other);
}

/** Memos of one process, without a database. */
import type { Memos } from '../../db/memo.ts';
import { createMemos } from '../../db/memos.ts';

export const ownMemos = (now: () => number = () => 0): Memos => createMemos({ engine: 'sqlite' }, (text) => text, now);

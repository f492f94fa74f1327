/**
 * A journal on disks that lose what was not synced: a seeded sequence of appends, turns, failed writes and restarts is
 * recorded, and every moment of it is looked at, with any sectors of the unsynced writes missing.
 */

import { strict as assert } from 'node:assert';
import type { FoundCommands } from '../../db/journal/format.ts';
import { readJournal } from '../../db/journal/format.ts';
import { contentsOf, Journal, type JournalFile, JournalFull, linesOf } from '../../db/journal/journal.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { randomOf } from '../support/random.ts';

const sector = 512;

/** A disk of its own: what was written since the last sync may be there or not, sector by sector. */
export class MemoryFile implements JournalFile {
  readonly size: number;
  #now: Buffer;
  #durable: Buffer;
  #unsynced: { readonly at: number; readonly bytes: Buffer }[] = [];
  /** Called before each write and each sync; what it throws is the disk's error. */
  fault: (kind: 'write' | 'sync') => void = () => undefined;
  /** Called when a write is there and not durable. */
  written: () => void = () => undefined;

  constructor(size: number) {
    this.size = size;
    this.#now = Buffer.alloc(size);
    this.#durable = Buffer.alloc(size);
  }

  read(bytes?: number): Buffer {
    return Buffer.from(this.#now.subarray(0, bytes));
  }

  write(bytes: Buffer, at: number): void {
    this.fault('write');
    bytes.copy(this.#now, at);
    this.#unsynced.push({ at, bytes: Buffer.from(bytes) });
    this.written();
  }

  sync(): void {
    this.fault('sync');
    this.#durable = Buffer.from(this.#now);
    this.#unsynced = [];
  }

  close(): void {}

  /** @returns the file after a power cut. @param keeps whether a sector of an unsynced write is there. */
  cut(keeps: () => boolean): Buffer {
    const left = Buffer.from(this.#durable);
    for (const { at, bytes } of this.#unsynced)
      for (let from = at; from < at + bytes.length; ) {
        const to = Math.min(at + bytes.length, (Math.floor(from / sector) + 1) * sector);
        if (keeps()) bytes.copy(left, from, from - at, to - at);
        from = to;
      }
    return left;
  }

  /** After the machine went on: what is there counts. */
  become(bytes: Buffer): void {
    this.#now = Buffer.from(bytes);
    this.#durable = Buffer.from(bytes);
    this.#unsynced = [];
  }
}

export const journalId = 'a'.repeat(32);

const commandOf = (ref: string, length: number): LedgerCommand => ({
  type: 'void',
  ref,
  log: null,
  // Of any length, and of more than ASCII.
  ...({ text: '价'.repeat(length) } as object),
});

const refsOf = (commands: readonly LedgerCommand[]): string[] => commands.map(({ ref }) => ref);

export interface CutCounts {
  cuts: number;
  flips: number;
  turns: number;
  failures: number;
}

/** One sequence with all its cuts. @param draws how many subsets of sectors are drawn for each moment. @throws AssertionError with the seed. */
export function playCuts(seed: number, draws: number, counts: CutCounts): void {
  const random = randomOf(seed);
  const upTo = (n: number) => Math.floor(random() * n);
  const files: [MemoryFile, MemoryFile] = [new MemoryFile(4096), new MemoryFile(4096)];
  /** By sequence number, from 1 on. */
  let confirmed: string[] = [];
  /** Batches of which one may be there beyond it: attempts of the same numbers. */
  let doubtful: string[] = [];
  let durable = 0;
  const say = (what: string) => `seed ${seed}: ${what}`;

  const check = (bytes: readonly Buffer[], applied: number): FoundCommands => {
    const found = readJournal(bytes, journalId, applied);
    if (found.kind !== 'found') throw new assert.AssertionError({ message: say(JSON.stringify(found)) });
    const refs = refsOf(found.commands);
    const wanted = confirmed.slice(applied);
    assert.deepEqual(refs.slice(0, wanted.length), wanted, say('what was confirmed is there, in order'));
    const more = refs.slice(wanted.length);
    assert.ok(more.length === 0 || doubtful.includes(more.join()), say(`an unconfirmed batch is whole: ${more}`));
    assert.equal(found.first, applied + 1);
    assert.equal(found.missing, 0);
    return found;
  };
  const cutHere = () => {
    for (let draw = 0; draw < draws; draw++) {
      const keeps = draw === 0 ? () => false : draw === 1 ? () => true : () => random() < 0.5;
      // A commit that is not synced may be lost with the power: anything from what is durable on.
      const applied = durable + upTo(confirmed.length - durable + 1);
      check(
        files.map((file) => file.cut(keeps)),
        applied,
      );
      counts.cuts++;
    }
  };
  for (const file of files) file.written = cutHere;

  const opened = (): Journal => {
    const found = contentsOf(files, journalId, durable);
    assert.equal(found.kind, 'found', say('opens'));
    const known = check(
      files.map((file) => file.read()),
      durable,
    );
    confirmed = [...confirmed.slice(0, durable), ...refsOf(known.commands)];
    doubtful = [];
    durable = confirmed.length;
    const journal = new Journal(files, journalId, known);
    if (upTo(2) === 0) journal.settled();
    assert.equal(journal.last, confirmed.length, say('numbers go on'));
    return journal;
  };

  let journal = opened();
  let made = 0;
  let again: LedgerCommand[] = [];
  for (let step = 0; step < 40; step++) {
    const fresh = Array.from({ length: 1 + upTo(4) }, () => commandOf(`r${++made}`, upTo(90)));
    const batch = [...again, ...fresh].slice(0, Math.max(again.length, 5));
    const text = linesOf(batch);
    assert.ok(journal.fits(Buffer.byteLength(text)), say('fits'));
    if (upTo(6) === 0) {
      const kind = upTo(2) === 0 ? 'write' : 'sync';
      for (const file of files)
        file.fault = (at) => {
          if (at === kind) throw new Error('EIO');
        };
    }
    doubtful.push(refsOf(batch).join());
    try {
      journal.append(text, batch.length, durable);
      confirmed.push(...refsOf(batch));
      doubtful = [];
      again = [];
    } catch (error) {
      again = batch;
      if (error instanceof JournalFull) {
        counts.turns++;
        assert.ok(error.until <= confirmed.length, say('what is waited for was confirmed'));
        durable = Math.max(durable, error.until);
      } else counts.failures++;
    }
    for (const file of files) file.fault = () => undefined;
    if (upTo(3) === 0) durable += upTo(confirmed.length - durable + 1);
    cutHere();
    flip();
    if (upTo(12) === 0) {
      // The power fails here, and comes back.
      for (const file of files) file.become(file.cut(() => random() < 0.5));
      again = [];
      journal = opened();
    }
  }

  /** One damaged byte: what is read is right, or the damage is noticed. */
  function flip(): void {
    const bytes = files.map((file) => file.read());
    const file = bytes[upTo(2)] ?? Buffer.alloc(1);
    const at = upTo(file.length);
    file[at] = (file[at] ?? 0) ^ (1 << upTo(8));
    counts.flips++;
    const found = readJournal(bytes, journalId, durable);
    if (found.kind !== 'found') return;
    const refs = refsOf(found.commands);
    const wanted = confirmed.slice(durable);
    const isWhole = refs.length >= wanted.length;
    assert.deepEqual(
      refs.slice(0, wanted.length),
      isWhole ? wanted : wanted.slice(0, refs.length),
      say('no other content'),
    );
    assert.ok(isWhole || found.isTorn, say('a damaged last frame is noticed'));
  }
}

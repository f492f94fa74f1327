import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeMigrationBackup } from '../../db/database-file.ts';
import { journalBytes, journalFiles } from '../../db/journal/files.ts';
import { linesOf } from '../../db/journal/journal.ts';
import { type JournalNotice, newJournal } from '../../db/journal/replay.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import { dataDirFiles } from '../../server/app/data-dir.ts';
import { importSite } from '../../server/app/import.ts';
import { moveToServer } from '../../server/app/move-database.ts';
import { openReading } from '../../server/app/read-only.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { startLedger } from '../../server/threads/ledger/thread.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { MemoryFile } from './journal-cuts.ts';
import { addUsers, grant, openBooks, settle } from './support.ts';

const torn = expect.stringContaining('the end of the ledger journal is not whole');

/** The journal's last confirmed charge is damaged. */
function damageJournal(file: string, last = '"ref":"b"'): void {
  for (const path of journalFiles(file)) {
    const bytes = readFileSync(path);
    const at = bytes.lastIndexOf(last);
    if (at < 0) continue;
    bytes[at] = 0x23;
    writeFileSync(path, bytes);
  }
}

/** A data directory whose server was killed, and whose journal is damaged at its end. */
async function killedSite() {
  const folder = diskFolder('notices');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const file = join(dataDir, 'gateway.db');
  const books = await openBooks(file);
  addUsers(books.raw, 1);
  const store = createLedgerStore(books.raw);
  store.apply([grant('g', 1, 100)]);
  const files: [MemoryFile, MemoryFile] = [new MemoryFile(journalBytes), new MemoryFile(journalBytes)];
  const journal = newJournal(files, store);
  for (const ref of ['a', 'b']) journal.append(linesOf([settle(ref, 1, 5)]), 1, 0);
  const copy = join(folder, 'copy.backup');
  const plan = { file: copy, drafts: [`${copy}.copy`, `${copy}.part`] as const, bytes: 0 };
  await writeMigrationBackup(books, plan, { schema: newestSqlite, version: 'v' });
  await books.close();
  for (const [at, path] of journalFiles(file).entries()) writeFileSync(path, files[at]?.read() ?? '', { mode: 0o600 });
  damageJournal(file);
  const notices: string[] = [];
  const onJournal = ({ en }: JournalNotice) => void notices.push(en);
  return { folder, dataDir, file, copy, notices, onJournal };
}

type Site = Awaited<ReturnType<typeof killedSite>>;

test.each<readonly [string, (site: Site) => Promise<void>]>([
  [
    'an import',
    async ({ folder, dataDir, onJournal }) => {
      const source = join(folder, 'litellm.yaml');
      writeFileSync(source, 'model_list: []\n');
      const order = { from: 'litellm', file: source, dataDir, dryRun: true, only: [], keepPrices: true } as const;
      await importSite({ ...order, language: 'en', env: {}, notCollected: () => undefined, onJournal });
    },
  ],
  [
    'a move to a server',
    async ({ dataDir, onJournal }) => {
      const server = { engine: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none' } as const;
      await expect(moveToServer({ dataDir, server, onJournal })).rejects.toMatchObject({ code: /^database_/ });
    },
  ],
  [
    'a look where nothing can be written',
    async ({ dataDir, onJournal }) => {
      await openReading(dataDirFiles(dataDir), null, onJournal)?.close();
    },
  ],
  [
    'a restore',
    async ({ copy, file, onJournal }) => {
      await restoreBackup(copy, file, 'stamp', undefined, onJournal);
    },
  ],
])('%s reports what is odd about the journal', async (_name, open) => {
  const site = await killedSite();
  await open(site);
  expect(site.notices).toEqual([torn]);
});

test('a server reports what is odd about the journal when it starts, and when it takes its database back', async () => {
  const { dataDir, file, notices } = await killedSite();
  const ledger = await startLedger({
    ...{ files: dataDirFiles(dataDir), nativeBinding: undefined, follows: false, node: null },
    print: (line) => void notices.push(line),
  });
  onTestFinished(ledger.terminate);
  expect(notices).toEqual([torn]);
  expect(await ledger.client.execute(settle('c', 1, 5))).toEqual({ status: 'done' });
  expect(await ledger.leave(10_000)).toBe(true);
  const [closed = ''] = journalFiles(file);
  const bytes = readFileSync(closed);
  bytes[20] = (bytes[20] ?? 0) ^ 1;
  writeFileSync(closed, bytes);
  expect(await ledger.resume(10_000)).toBe(true);
  expect(notices).toEqual([torn, torn]);
  expect(await ledger.stop(10_000)).toBe(true);
});

test('a settlement that the tables turn down after it was acknowledged is kept in a file, which the log names', async () => {
  const { dataDir } = await killedSite();
  const ledger = await startLedger({
    ...{ files: dataDirFiles(dataDir), nativeBinding: undefined, follows: false, node: null },
    print: () => undefined,
  });
  onTestFinished(ledger.terminate);
  const rejected: string[] = [];
  ledger.client.onRejected((ref, reason) => void rejected.push(`${ref}: ${reason}`));
  expect(await ledger.client.execute(settle('a', 1, 6))).toEqual({ status: 'done' });
  await ledger.client.flush();
  const [name = ''] = readdirSync(dataDir).filter((one) => one.endsWith('.refused'));
  expect(rejected).toEqual([`a: conflict; see ${join(dataDir, name)}`]);
  expect(JSON.parse(readFileSync(join(dataDir, name), 'utf8'))).toMatchObject({ type: 'settle', ref: 'a', amount: 6 });
  expect(await ledger.stop(10_000)).toBe(true);
});

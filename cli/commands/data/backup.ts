/** Backups: made while the server runs, restored while it does not. */
import { createReadStream, openSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  backupFiles,
  backupHeader,
  backupNamed,
  restore as restoreOver,
  serverOf,
} from '../../../server/app/data-dir-commands.ts';
import { AppError, formatError } from '../../../server/contract/errors.ts';
import { folderFree } from '../../client.ts';
import type { CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { detailLines, isoTime } from '../../output.ts';

const folderOf = (context: Context): string => join(context.dataDir, 'backups');
const stampOf = (now: number): string => new Date(now).toISOString().replace(/[:.]/g, '-');

function localOnly(context: Context): void {
  if (context.url !== '') throw new AppError('usage', { detail: '--url: backups are made on the machine itself' });
}

export const create: CommandRun = async (context, _flags, input) => {
  localOnly(context);
  const piped = input === '-';
  if (piped && process.stdout.isTTY === true)
    throw new AppError('usage', {
      detail: '-',
      detail_zh: '-：备份是二进制文件，请重定向到文件：gateway backup create - > FILE',
      detail_en: '-: a backup is binary, redirect it: gateway backup create - > FILE',
    });
  const file =
    input === '' || piped
      ? join(folderOf(context), `gateway-${stampOf(Date.now())}.backup${piped ? '.tmp' : ''}`)
      : resolve(input);
  const header = await context.during((await context.client()).call('local.backup', { file }));
  if (!piped) return context.output.object({ file, ...header }, detailLines({ file, ...header }), file);
  const fd = openSync(file, 'r');
  // Its name goes first: the process ends at once where the reader of the pipe does.
  rmSync(file, { force: true });
  for await (const piece of createReadStream(file, { fd })) await written(piece as Buffer);
};

/** One piece at a time, as fast as it is read. @throws AppError output_unwritable */
const written = (piece: Buffer): Promise<void> =>
  new Promise((resolve, reject) =>
    process.stdout.write(piece, (error) =>
      error ? reject(new AppError('output_unwritable', { detail: error.message }, error)) : resolve(),
    ),
  );

export const restore: CommandRun = async (context, _flags, input) => {
  localOnly(context);
  const file = backupNamed(context.dataDir, input);
  if (file === null) throw new AppError('not_found', { what: input });
  const header = backupHeader(file);
  const when = isoTime(header.created_at);
  const into = serverOf(context.env);
  const question =
    into === null
      ? context.say(
          `用 ${when} 的备份替换 ${context.dataDir} 的数据库（原数据库会保留）？`,
          `Replace the database in ${context.dataDir} by the backup of ${when}? The current one is kept`,
        )
      : context.say(
          `把 ${when} 的备份恢复到空数据库 ${into}？`,
          `Restore the backup of ${when} into the empty database ${into}?`,
        );
  await context.confirm(question);
  await folderFree(context.dataDir);
  const { kept, keyFailure } = await context.during(
    restoreOver(file, context.dataDir, stampOf(Date.now()), context.env, context.onJournal),
  );
  context.output.object(
    { result: 'updated', ...header, kept, key: keyFailure?.code ?? 'ok' },
    [
      context.say(`已恢复 ${when} 的备份`, `restored the backup of ${when}`),
      ...(kept === '' ? [] : [context.say(`原数据库：${kept}`, `former database: ${kept}`)]),
    ],
    kept,
  );
  if (keyFailure !== null) context.output.note(formatError(keyFailure.code, keyFailure.params, context.language));
};

/** Of the machine that is named; this one's are read without its server, which a damaged database keeps from starting. */
export const list: CommandRun = async (context) => {
  context.output.list(
    context.url === '' ? backupFiles(context.dataDir) : await (await context.client()).call('backup.list'),
    [
      { name: 'file', value: (row) => row.file },
      { name: 'time', value: (row) => isoTime(row.created_at) },
      { name: 'bytes', value: (row) => String(row.bytes), right: true },
      { name: 'schema', value: (row) => row.schema },
      { name: 'version', value: (row) => row.version },
      { name: 'before upgrade to', value: (row) => row.before_upgrade_to },
    ],
    (row) => row.file,
  );
};

/** One by the clock's rules, now. */
export const run: CommandRun = async (context) => {
  const made = await context.during((await context.client()).call('backup.run'));
  context.output.object(made, detailLines(made), made.file);
};

export const status: CommandRun = async (context) => {
  const found = await (await context.client()).call('backup.status');
  context.output.object(found, detailLines(found), found.file);
};

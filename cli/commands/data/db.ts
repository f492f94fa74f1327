/** The database file. */
import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { databaseName, dataDirFiles, lockOwner } from '../../../server/app/data-dir.ts';
import { AppError } from '../../../server/contract/errors.ts';
import type { CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { detailLines, isoTime } from '../../output.ts';

/** The file, or the server's database without its password. */
const databaseOf = ({ dataDir, env }: Context): string => databaseName(dataDirFiles(dataDir), env);

/** @throws AppError usage where a server elsewhere is meant. */
function onlyHere({ url }: Context): void {
  if (url === '') return;
  throw new AppError('usage', {
    detail: url,
    detail_zh: `此命令查看本机的数据目录，而当前指向 ${url}。请去掉 --url、--context 或 GATEWAY_URL`,
    detail_en: `this command looks at a data directory of this machine, but ${url} is meant. Leave out --url, --context or GATEWAY_URL`,
  });
}

export const path: CommandRun = async (context) => {
  onlyHere(context);
  const database = databaseOf(context);
  context.output.object({ path: database }, [database], database);
};

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

/** The schema there is, not brought up to date by looking. */
export const status: CommandRun = async (context) => {
  onlyHere(context);
  const { backupFiles, databaseSchema } = await import('../../../server/app/data-dir-commands.ts');
  const files = dataDirFiles(context.dataDir);
  const copy = backupFiles(context.dataDir).findLast((backup) => backup.before_upgrade_to !== '');
  const found = {
    path: databaseOf(context),
    bytes: sizeOf(files.database),
    wal_bytes: sizeOf(`${files.database}-wal`),
    ...(await databaseSchema(context.dataDir, context.env)),
    server: lockOwner(files),
    // The way back to the build before: gateway backup restore.
    copy_before_upgrade: copy === undefined ? '' : basename(copy.file),
    copy_schema: copy?.schema ?? '',
    copy_made_at: copy?.created_at ?? 0,
  };
  const details = { ...found, server: found.server ?? '-', copy_made_at: isoTime(found.copy_made_at) };
  context.output.object(found, detailLines(details), found.schema);
};

export const check: CommandRun = async (context) => {
  const found = await (await context.client()).call('local.check');
  context.output.object(found, detailLines({ ...found, problems: found.problems.join('; ') }), found.schema);
  if (found.problems.length > 0) throw new AppError('check_failed', { detail: found.problems[0] ?? '' });
};

export const vacuum: CommandRun = async (context) => {
  const sizes = await (await context.client()).call('local.vacuum');
  context.output.object({ result: 'updated', ...sizes }, [`${sizes.before} -> ${sizes.after}`], String(sizes.after));
};

/** Opening the data directory brings the schema up to date. */
export const migrate: CommandRun = async (context) => {
  const { databaseSchema } = await import('../../../server/app/data-dir-commands.ts');
  const before = await databaseSchema(context.dataDir, context.env);
  const { schema } = await (await context.client()).call('local.check');
  context.output.object({ result: before.schema === schema ? 'unchanged' : 'updated', schema }, [schema], schema);
};

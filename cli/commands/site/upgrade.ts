/** Upgrades the executable from a file that was fetched by hand; nothing is ever asked of the network. */
import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { type BackupFile, backupFiles, restore, serverOf } from '../../../server/app/data-dir-commands.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { commit, version as release, releaseKey } from '../../../server/embedded/version.ts';
import { isCompiled } from '../../bench/process.ts';
import { folderFree } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';
import {
  hasSchema,
  infoOf,
  install,
  type ProgramInfo,
  previousOf,
  putBack,
  rejectManaged,
  unpackNextTo,
  verifiedRelease,
} from '../../parts/installed-program.ts';

export const upgrade: CommandRun = async (context, flags) => {
  const file = text(flags.from);
  if (file === undefined && flags.rollback !== true) return describe(context);
  if (file !== undefined && flags.rollback === true) throw new AppError('usage', { detail: '--from, --rollback' });
  if (context.url !== '') throw new AppError('usage', { detail: '--url: gateway upgrade' });
  if (!isCompiled) throw new AppError('upgrade_sources');
  const program = realpathSync(process.execPath);
  rejectManaged(program);
  if (file === undefined) return rollback(context, program);
  const input = text(flags.releaseKey);
  const key = input === undefined ? releaseKey : readFileSync(input, 'utf8');
  return upgradeFrom(context, program, resolve(file), key, flags.allowDowngrade === true);
};

function describe(context: Context): void {
  const words = context.say(
    '本程序从不联网检查更新。下载发布文件与 SHA256SUMS、SHA256SUMS.sig 到同一目录，然后：gateway upgrade --from 文件',
    'Nothing is checked over the network. Place a release file, SHA256SUMS and SHA256SUMS.sig in one directory, then: gateway upgrade --from FILE',
  );
  context.output.object({ version: release, checked: false }, [`gateway ${release} (${commit})`, words], release);
}

/** What cannot be compared counts as older. @param other of this program unless given. */
export function isOlder(version: string, other: string = release): boolean {
  try {
    return Bun.semver.order(version, other) < 0;
  } catch {
    return true;
  }
}

/**
 * An older release is rightly signed as well: who can exchange the three files could bring known holes back.
 * @param key PEM of the release's public key, '' = none is known. @throws AppError upgrade_downgrade, upgrade_older
 */
export async function upgradeFrom(
  context: Context,
  program: string,
  file: string,
  key: string,
  allowsDowngrade: boolean,
): Promise<void> {
  const bytes = verifiedRelease(file, key);
  const next = await unpackNextTo(file, bytes, program);
  try {
    const facts = infoOf(next, context.dataDir);
    if (!allowsDowngrade && isOlder(facts.version))
      throw new AppError('upgrade_downgrade', { version: facts.version, installed: release });
    if (!hasSchema(facts))
      throw new AppError('upgrade_older', { version: facts.version, schema: facts.schema, newest: facts.newest });
    install(next, program);
    context.output.object(
      { result: 'updated', version: facts.version, former: release, program, kept: previousOf(program) },
      [
        context.say(`已安装 ${facts.version}：${program}`, `installed ${facts.version}: ${program}`),
        context.say(`原程序：${previousOf(program)}`, `former executable: ${previousOf(program)}`),
        ...nextSteps(context, facts),
      ],
      facts.version,
    );
  } finally {
    rmSync(next, { force: true });
  }
}

function nextSteps({ say }: Context, { schema, newest }: ProgramInfo): string[] {
  const restart = say(
    '重启服务后生效（或在 Linux 上用 gateway serve --take-over 不中断地接替）',
    'restart the service to use it, or on Linux replace the running one without a gap: gateway serve --take-over',
  );
  if (schema === '' || schema === newest) return [restart];
  const migrates = say(
    `首次启动会先复制数据库，再从 ${schema} 升级到 ${newest}；回退：gateway upgrade --rollback`,
    `its first start copies the database, then upgrades it from ${schema} to ${newest}; the way back is gateway upgrade --rollback`,
  );
  return [restart, migrates];
}

/** The data go back first: an executable that is newer than its data upgrades them again, an older one would refuse them. */
export async function rollback(context: Context, program: string): Promise<void> {
  const former = previousOf(program);
  if (!existsSync(former)) throw new AppError('rollback_missing', { file: former });
  const facts = infoOf(former, context.dataDir);
  const copy = hasSchema(facts) ? null : copyFor(context, facts);
  const question =
    copy === null
      ? context.say(`恢复 ${facts.version}？数据不变`, `Restore ${facts.version}? The data are not changed`)
      : context.say(
          `恢复 ${facts.version} 以及 ${isoTime(copy.created_at)} 的数据？之后的请求与账单会留在旁边的文件中，不再计入`,
          `Restore ${facts.version} and the data of ${isoTime(copy.created_at)}? Requests and charges since then are kept in a file beside the database and no longer count`,
        );
  await context.confirm(question);
  const kept = copy === null ? '' : await restoreData(context, copy);
  putBack(program);
  context.output.object(
    { result: 'updated', version: facts.version, former: release, program, copy: copy?.file ?? '', kept },
    [
      context.say(`已恢复 ${facts.version}：${program}`, `restored ${facts.version}: ${program}`),
      ...(copy === null ? [] : [context.say(`数据来自：${copy.file}`, `data from: ${copy.file}`)]),
      ...(kept === '' ? [] : [context.say(`升级后的数据库：${kept}`, `database since the upgrade: ${kept}`)]),
    ],
    facts.version,
  );
}

/** The copy made before the migration that left what the former executable knows. @throws AppError rollback_data */
function copyFor({ dataDir, env }: Context, { schema, newest }: ProgramInfo): BackupFile {
  const copies = serverOf(env) === null ? backupFiles(dataDir) : [];
  const copy = copies.findLast((one) => one.before_upgrade_to > newest && one.schema <= newest);
  if (copy === undefined) throw new AppError('rollback_data', { schema, newest });
  return copy;
}

async function restoreData(context: Context, copy: BackupFile): Promise<string> {
  await folderFree(context.dataDir);
  const stamp = new Date().toISOString().replace(/[:.]/g, '-');
  const { kept } = await context.during(restore(copy.file, context.dataDir, stamp, context.env, context.onJournal));
  return kept;
}

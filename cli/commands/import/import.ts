/** Moving in from another gateway. */
import { AppError } from '../../../server/contract/errors.ts';
import { folderFree } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';

const families = ['new-api', 'one-api', 'litellm'] as const;

/** What people call the tables. */
const parts: Readonly<Record<string, string>> = {
  users: 'users',
  tokens: 'tokens',
  channels: 'channels',
  codes: 'redemptions',
  ratios: 'options',
  options: 'options',
  logs: 'logs',
};

/** @returns names of tables. @throws AppError usage */
const onlyOf = (given: string | undefined): string[] =>
  (given === undefined ? [] : given.split(',')).map((name) => {
    const table = parts[name.trim()];
    if (table === undefined)
      throw new AppError('usage', { detail: `--only ${name}: ${Object.keys(parts).join(', ')}` });
    return table;
  });

export const importFrom =
  (from: (typeof families)[number]): CommandRun =>
  async (context, flags, file) => {
    if (context.url !== '') throw new AppError('usage', { detail: '--url: imports happen on the machine itself' });
    const { importSite } = await import('../../../server/importing.ts');
    const { env, dataDir } = context;
    const dryRun = flags.dryRun === true;
    const only = onlyOf(text(flags.only));
    await folderFree(dataDir);
    const report = await importSite({ from, file, dataDir, dryRun, env, only });
    context.output.object(
      { dry_run: dryRun, ...report },
      [
        ...Object.entries(report.counts).map(([table, { taken, skipped }]) =>
          context.say(`${table}：导入 ${taken}，跳过 ${skipped}`, `${table}: ${taken} taken, ${skipped} skipped`),
        ),
        ...report.notes.map((note) => `  ${note}`),
        context.say(
          `额度：来源 ${report.quota.source}，导入 ${report.quota.imported}`,
          `quota: ${report.quota.source} in the source, ${report.quota.imported} imported`,
        ),
        ...(dryRun ? [context.say('仅预演，未写入', 'dry run: nothing was written')] : []),
      ],
      String(report.quota.imported),
    );
  };

/** Moving in from another gateway. */

import type { ImportReport, ModelPrice } from '../../../server/app/import.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { folderFree } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';

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
const onlyOf = (input: string | undefined): string[] =>
  (input === undefined ? [] : input.split(',')).map((name) => {
    const table = parts[name.trim()];
    if (table === undefined)
      throw new AppError('usage', { detail: `--only ${name}: ${Object.keys(parts).join(', ')}` });
    return table;
  });

export const importFrom =
  (from: (typeof families)[number]): CommandRun =>
  async (context, flags, file) => {
    // A folder that is named lies on this machine, whatever GATEWAY_URL says.
    if (context.url !== '' && (context.flags.url !== undefined || context.flags.dataDir === undefined))
      throw new AppError('usage', { detail: '--url: imports happen on the machine itself' });
    const { importSite } = await import('../../../server/app/import.ts');
    const { dataDir, language } = context;
    const env = placeEnvironment(context);
    const only = onlyOf(text(flags.only));
    await folderFree(dataDir);
    const run = (dryRun: boolean) =>
      importSite({
        ...{ from, file, dataDir, dryRun, env, only, language },
        ...{ notCollected: context.notCollected, onJournal: context.onJournal },
        keepPrices: flags.newPrices !== true,
      });
    const dryRun = flags.dryRun === true;
    if (!dryRun && context.flags.yes !== true) {
      for (const line of linesOf(context, await run(true))) context.output.note(line);
      await context.confirm(context.say('按以上内容导入？', 'Import it like this?'));
    }
    const report = await run(dryRun);
    context.output.object(
      { dry_run: dryRun, ...report },
      [...linesOf(context, report), ...(dryRun ? [context.say('仅预演，未写入', 'dry run: nothing was written')] : [])],
      String(report.quota.imported),
    );
  };

/**
 * The source's own environment is often loaded, and LiteLLM calls its database DATABASE_URL too: a folder that was named
 * wins over it. `--database` names both.
 */
function placeEnvironment({ env, flags, output, say }: Context): Context['env'] {
  const isAmbient = flags.dataDir !== undefined && flags.database === undefined && (env.DATABASE_URL ?? '') !== '';
  if (!isAmbient) return env;
  output.note(
    say(
      '未使用环境变量 DATABASE_URL：--data-dir 指定了位置（如需导入该数据库，请写 --database）',
      'DATABASE_URL of the environment is not used: --data-dir names the place (to import into that database, write --database)',
    ),
  );
  return { ...env, DATABASE_URL: undefined, DATABASE_DIRECT_URL: undefined };
}

const linesOf = (context: Context, { counts, notes, losses, prices, quota }: ImportReport): string[] => [
  ...Object.entries(counts).map(([table, { taken, skipped }]) =>
    context.say(`${table}：导入 ${taken}，跳过 ${skipped}`, `${table}: ${taken} taken, ${skipped} skipped`),
  ),
  ...notes.map((note) => `  ${note}`),
  ...(losses.length === 0 ? [] : [context.say('此处不起作用：', 'what will not act here:')]),
  ...losses.map(({ what, rows, quota: lost, consequence }) => {
    const amount = lost === 0 ? '' : context.say(`，额度 ${lost}`, `, quota ${lost}`);
    return context.say(
      `  ${what}（${rows} 行${amount}）：${consequence}`,
      `  ${what} (${rows} rows${amount}): ${consequence}`,
    );
  }),
  ...priceLines(context, prices),
  context.say(
    `额度：来源 ${quota.source}，导入 ${quota.imported}`,
    `quota: ${quota.source} in the source, ${quota.imported} imported`,
  ),
];

function priceLines(context: Context, { kept, differences }: ImportReport['prices']): string[] {
  if (differences.length === 0) return [];
  const words = (price: ModelPrice | null, unknown: string): string =>
    price === null
      ? unknown
      : price.perCall === null
        ? [
            `${price.ratio} × ${price.completion}`,
            ...(price.cacheRead === null ? [] : [`cache ${price.cacheRead}/${price.cacheWrite}`]),
            ...(price.tiers ? [context.say('长提示加价', 'more for long prompts')] : []),
          ].join(', ')
        : context.say(`每次 $${price.perCall}`, `$${price.perCall} a call`);
  return [
    kept
      ? context.say(
          '价格与来源不同的模型（沿用来源的价格）：',
          'models with another price here (that of the source is kept):',
        )
      : context.say('价格与来源不同的模型（采用此处的价格）：', 'models with another price here (which they get):'),
    ...differences.map(({ model, there, here }) => {
      const [from, to] = [
        words(there, context.say('未知，请核对', 'not known, check it')),
        words(here, context.say('无', 'none')),
      ];
      return context.say(`  ${model}：来源 ${from}；此处 ${to}`, `  ${model}: there ${from}; here ${to}`);
    }),
  ];
}

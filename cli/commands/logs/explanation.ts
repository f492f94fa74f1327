/** One charge, line by line, recomputed from its log row. */

import { answerFactsIn } from '../../../server/contract/answered-model.ts';
import { cacheMissIn, cacheMissText, diagnosisIn, diagnosisText } from '../../../server/contract/cache-miss.ts';
import type { Log } from '../../../server/contract/entities.ts';
import type { Language } from '../../../server/contract/enum.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { textIn } from '../../../server/contract/language.ts';
import { type BillLine, recompute } from '../../../server/contract/pricing/charge.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { usageMarksIn } from '../../../server/contract/usage-marks.ts';
import type { CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';
import { type Money, moneyOf } from '../../parts/money.ts';
import { logRow } from './filters.ts';

const kinds: Readonly<Record<BillLine['kind'], { zh: string; en: string }>> = {
  input: { zh: '输入', en: 'input' },
  cache_read: { zh: '缓存读取', en: 'cache read' },
  cache_write: { zh: '缓存写入', en: 'cache write' },
  cache_write_1h: { zh: '缓存写入（1 小时）', en: 'cache write (1 h)' },
  cache_write_12h: { zh: '缓存写入（12 小时）', en: 'cache write (12 h)' },
  output: { zh: '输出', en: 'output' },
  call: { zh: '按次', en: 'per call' },
};

const compactions: Readonly<Record<string, { zh: string; en: string }>> = {
  native: { zh: '对话压缩：由上游完成', en: 'conversation compacted by the upstream itself' },
  summary: { zh: '对话压缩：由同一模型撰写摘要', en: 'conversation compacted by a summary that the same model wrote' },
};

const compactionWords = (name: string, language: Language): string => {
  const words = compactions[name];
  return words === undefined ? name : textIn(words, language);
};

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

/** Who paid what the balance did not. */
const otherAccounts = ({ overrun, house }: Readonly<Record<string, unknown>>) => [
  ...(typeof overrun === 'number'
    ? [{ zh: `其中 ${overrun} 超出余额，记入超支账户`, en: `of it ${overrun} beyond the balance, paid by overrun` }]
    : []),
  ...(typeof house === 'number' ? [{ zh: '自用模式：由站点承担', en: 'self-use mode: paid by the house' }] : []),
];

/** Why no channel was called. */
const refusal = ({ created_at: at, username, token_name: token }: Log, facts: Readonly<Record<string, unknown>>) => {
  if (typeof facts.refused !== 'string') return [];
  const who = [username, token].filter((one) => one !== '').join(' / ');
  const details = `${facts.refused}, HTTP ${Number(facts.status)}, ${isoTime(at)}${who === '' ? '' : `, ${who}`}`;
  const skipped = Number(facts.skipped ?? 0);
  return [
    { zh: `  拒绝：${details}`, en: `  refused: ${details}` },
    ...(facts.unread === true
      ? [
          {
            zh: '  拒绝时尚未读取请求体，因此没有模型',
            en: '  refused before the body was read: the model is not known',
          },
        ]
      : []),
    ...(skipped > 0
      ? [{ zh: `  此前还有 ${skipped} 次未记录`, en: `  ${skipped} more before it left no row of their own` }]
      : []),
  ];
};

/** What the upstream says of its answer. */
function answerLines(facts: Readonly<Record<string, unknown>>): readonly { zh: string; en: string }[] {
  const { model, isOther, requestId, statedCost } = answerFactsIn(facts);
  return [
    ...(model === ''
      ? []
      : [
          isOther
            ? { zh: `  由其他模型应答：${model}`, en: `  another model answered: ${model}` }
            : { zh: `  上游应答的模型：${model}`, en: `  model of the answer: ${model}` },
        ]),
    ...(requestId === ''
      ? []
      : [{ zh: `  上游请求 ID：${requestId}`, en: `  the upstream's request id: ${requestId}` }]),
    ...(statedCost === null
      ? []
      : [{ zh: `  上游声明的费用：$${statedCost}`, en: `  the upstream states a cost of $${statedCost}` }]),
  ];
}

/** Why the provider's cache was missed, and what that cost. */
function cacheLines(context: Context, money: Money, facts: Readonly<Record<string, unknown>>): readonly string[] {
  const miss = cacheMissIn(facts.cache_miss);
  const diagnosis = diagnosisIn(facts.cache_diagnosis);
  const said = diagnosis === null ? [] : [`  ~ ${diagnosisText(diagnosis, context.language)}`];
  if (miss === null) return said;
  const { tokens, lost } = miss;
  const missed = context.say(`缓存未命中 ${tokens} tokens`, `${tokens} tokens were not in the cache`);
  const more = context.say(`多花 ${money.of(lost)}`, `${money.of(lost)} more`);
  return [`  ~ ${missed}: ${cacheMissText(miss, context.language)} (${more})`, ...said];
}

export const explain: CommandRun = async (context, _flags, ref) => {
  const client = await context.client();
  const row = await logRow(client, ref);
  const facts = JSON.parse(row.other || '{}') as Record<string, unknown>;
  const again = recompute(facts);
  if (again === null) {
    context.output.object(
      { log: row, bill: null },
      [
        `${row.id}  ${row.model_name}  ${storedIn(row.content, context.language)}`,
        ...refusal(row, facts).map((one) => textIn(one, context.language)),
        context.say('未扣费', 'no charge'),
      ],
      String(row.id),
    );
    return;
  }
  const { prices, lines, quota, carried } = again;
  const money = await moneyOf(context);
  const free = row.quota === 0 && quota > 0;
  const right = quota === row.quota || free;
  const verdict = free
    ? context.say('未扣费', 'not charged')
    : right
      ? context.say('与扣费一致', 'equals the charge')
      : `<> ${row.quota}`;
  const name = ({ kind, detail }: BillLine) =>
    `${textIn(kinds[kind], context.language)}${detail === undefined ? '' : ` (${detail})`}`;
  const { groupRatio = prices.groupRatio, factor = 1 } = prices.channel ?? {};
  const bill = [
    `${row.request_id}  ${isoTime(row.created_at)}  ${row.model_name}  (${row.usage_source}, ${row.end_reason})`,
    ...lines.map((line) =>
      line.kind === 'call'
        ? `  ${name(line)}: $${line.ratio} x ${line.tokens} x ${prices.quotaPerUnit} x ${prices.groupRatio}`
        : `  ${name(line)}: ${line.tokens} x ${line.ratio} = ${Number((line.tokens * line.ratio).toFixed(6))}${
            line.modelRatio === undefined ? '' : ` (${context.say('模型倍率', 'model ratio')} ${line.modelRatio})`
          }`,
    ),
    ...(prices.modelPrice === null
      ? [
          `  x ${context.say('模型倍率', 'model ratio')} ${prices.modelRatio} x ${context.say('分组倍率', 'group ratio')} ${groupRatio}`,
        ]
      : []),
    ...(factor === 1 || prices.modelPrice !== null
      ? []
      : [`  x ${context.say('渠道价格倍率', 'factor of the channel')} ${factor}`]),
    ...(prices.surcharges ?? []).map((surcharge) => `  x ${surcharge.name} ${surcharge.ratio}`),
    ...(carried === undefined || carried === 0
      ? []
      : [`  + ${carried} ${context.say('此前请求不足一个额度单位的余数', 'carried over from earlier requests')}`]),
    ...answerLines(facts).map((one) => textIn(one, context.language)),
    ...usageMarksIn(facts.usage_marks, context.language).map((what) => `  ! ${what}`),
    ...cacheLines(context, money, facts),
    ...listOf(facts.unpriced).map((what) => `  ! ${context.say('没有价格', 'no price')}: ${what}`),
    ...(typeof facts.compaction === 'string' ? [`  ~ ${compactionWords(facts.compaction, context.language)}`] : []),
    ...listOf(facts.dropped).map((what) => `  - ${context.say('未发往上游', 'not sent upstream')}: ${what}`),
    `  = ${quota} quota = ${money.of(quota, 'exact')}   ${verdict}`,
    ...otherAccounts(JSON.parse(row.other) as Record<string, unknown>).map(
      (one) => `  ${textIn(one, context.language)}`,
    ),
  ];
  context.output.object({ log: row, bill: { lines, prices, quota, carried, matches: right } }, bill, String(row.id));
  if (!right) throw new AppError('check_failed', { detail: `${quota} <> ${row.quota}` });
};

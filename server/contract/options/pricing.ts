/** What everything costs. */

import {
  address,
  integer,
  nameList,
  priceDates,
  ratios,
  ratioTable,
  termFactors,
  termTable,
  texts,
  tiers,
  toggle,
} from '../option-kinds.ts';
import { type BucketOptionKey, bucketOptions } from '../pricing/bucket.ts';
import defaults from '../pricing/default-prices.json' with { type: 'json' };
import { type OptionRow, option } from './row.ts';

const shipped: Readonly<Record<string, unknown>> = defaults;

/** A price of its own for each bucket that has one. */
const priceRatios = Object.fromEntries(
  bucketOptions.map(({ key, label, help }) => [
    key,
    option({
      kind: ratios,
      fallback: JSON.stringify(shipped[key] ?? {}),
      tab: 'operation',
      panel: 'pricing',
      label,
      help,
    }),
  ]),
) as Record<BucketOptionKey, OptionRow<ReadonlyMap<string, number>>>;

export const pricingOptions = {
  ModelPrice: option({
    kind: ratios,
    fallback: JSON.stringify(defaults.ModelPrice),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '模型固定价格', en: 'Fixed prices per call (dollars)' },
    help: {
      zh: '模型 → 每次调用的美元价格；优先于倍率。',
      en: 'Model → dollars per call; goes before a ratio.',
    },
  }),
  ModelRatio: option({
    kind: ratios,
    fallback: JSON.stringify(defaults.ModelRatio),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '模型倍率', en: 'Model ratios' },
    help: {
      zh: '模型 → 倍率；1 表示每百万输入 Tokens 2 美元。',
      en: 'Model → ratio; 1 is $2 for a million input tokens.',
    },
  }),
  ...priceRatios,
  ContextTiers: option({
    kind: tiers,
    fallback: JSON.stringify(defaults.ContextTiers),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '长上下文价格倍率', en: 'Price factors of long prompts' },
    help: {
      zh: 'JSON：模型 → 提示超过某长度后的价格倍率。',
      en: 'JSON: model -> factors that hold above a length of the prompt.',
    },
  }),
  TierRatio: option({
    kind: termTable,
    fallback: JSON.stringify(defaults.TierRatio),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '服务等级价格倍率', en: 'Price factors of service tiers, speeds and regions' },
    help: {
      zh: '模型或前缀* → service_tier:priority 等 → 价格倍率。没有倍率的取值不会发往上游。',
      en: 'Model or beginning* → service_tier:priority and the like → factor. Others never go upstream.',
    },
  }),
  TierFactors: option({
    kind: termFactors,
    fallback: JSON.stringify(defaults.TierFactors),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '服务等级分项倍率', en: 'Factors of service tiers by kind of token' },
    help: {
      zh: 'JSON：模型或前缀* → service_tier:flex 等 → 各长度的 input、output、cache_read、cache_write 倍率；用于不是单一倍率的等级。',
      en: 'JSON: model or beginning* -> service_tier:flex -> list of above, input, output, cache_read, cache_write.',
    },
  }),
  PriceDates: option({
    kind: priceDates,
    fallback: JSON.stringify(defaults.PriceDates),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '按日期生效的价格', en: 'Prices with a date' },
    help: {
      zh: 'JSON：模型 → 列表，每项含 from（首日，UTC）、可选 until（末日）及该日起的 ModelRatio 等；replaces 与当前值不同则不生效。',
      en: 'JSON: model -> list of from and until (first and last day, UTC), the prices that hold, and those they replace.',
    },
  }),
  ToolPrices: option({
    kind: ratios,
    fallback: JSON.stringify(defaults.ToolPrices),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '工具单次价格（美元）', en: 'Prices per tool call (dollars)' },
    help: {
      zh: '工具 或 工具:模型（可用前缀*）→ 每次调用的美元价格。',
      en: 'Tool, or tool:model (the model may be a beginning*) → dollars per call.',
    },
  }),
  GroupRatio: option({
    kind: ratios,
    fallback: JSON.stringify(defaults.GroupRatio),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '分组倍率', en: 'Group ratios' },
    help: { zh: '分组 → 所有价格的倍率。', en: 'Group → ratio that every price is multiplied by.' },
  }),
  GroupGroupRatio: option({
    kind: ratioTable,
    fallback: '{}',
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '用户分组对使用分组的倍率', en: 'Ratios of a user group for a used group' },
    help: {
      zh: '用户分组 → 使用的分组 → 倍率；优先于分组倍率。',
      en: 'Group of the user → group used → factor; goes before the group ratio.',
    },
  }),
  ChannelCostRatio: option({
    kind: ratios,
    fallback: '{}',
    tab: 'operation',
    panel: 'pricing',
    label: {
      zh: '渠道成本倍率（渠道编号或 编号:模型 → 相对列表价的成本）',
      en: 'Cost of channels (channel id or id:model -> share of the list price)',
    },
    help: {
      zh: '渠道编号，或 编号:模型（可用 12:gpt-* 前缀）→ 成本占列表价的比例，用于计算利润。',
      en: 'Channel id, or id:model (12:gpt-* for a beginning) → your cost as a share of the list price; margins follow from it.',
    },
  }),
  'price_list.address': option({
    kind: address,
    fallback: '',
    tab: 'operation',
    panel: 'pricing',
    role: 100,
    label: { zh: '价格表地址', en: 'Address of a price list' },
    help: {
      zh: 'LiteLLM、models.dev、OpenRouter、genai-prices 的列表，或其他网关的价格；读取后仅作为建议，确认后才生效。',
      en: 'A list of LiteLLM, models.dev, OpenRouter, genai-prices or another gateway. Nothing changes before you agree.',
    },
  }),
  'price_list.every_hours': option({
    kind: integer(0, 744),
    fallback: '0',
    tab: 'operation',
    panel: 'pricing',
    role: 100,
    label: { zh: '读取价格表的间隔（小时，0 = 不读取）', en: 'Hours between readings of the list (0 = never)' },
    help: {
      zh: '上面的地址每隔这么久读取一次。',
      en: 'The address above is read as often as this.',
    },
  }),
  AutoGroups: option({
    kind: nameList,
    fallback: '["default"]',
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '自动分组', en: 'Automatic groups' },
    help: {
      zh: 'JSON 数组，如 ["default","vip"]：分组为 auto 的令牌按此顺序尝试，跳过用户不能使用的分组。',
      en: 'List such as ["default","vip"]: keys with the group auto try them in this order, those that their user may use.',
    },
  }),
  DefaultUseAutoGroup: option({
    kind: toggle,
    fallback: 'false',
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '新令牌默认使用自动分组', en: 'New keys use automatic groups' },
    help: {
      zh: '未指定分组的新令牌使用 auto。',
      en: 'New keys for which no group is chosen get auto.',
    },
  }),
  UserUsableGroups: option({
    kind: texts,
    fallback: JSON.stringify(defaults.UserUsableGroups),
    tab: 'operation',
    panel: 'pricing',
    label: { zh: '用户可选分组', en: 'Groups users may choose' },
    help: {
      zh: '分组 → 说明；用户可为令牌选择这些分组。',
      en: 'Group → description. Users may choose these for their keys.',
    },
  }),
} as const;

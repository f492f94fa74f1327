/** What a source charges otherwise by its own formula, whatever its prices are: read in the code of one-api 0.6.10 and new-api 0.9.0. */

import type { Words } from './schema.ts';
import type { Family } from './source.ts';

interface Formula extends Words {
  /** Models that it concerns; absent = all. */
  readonly models?: RegExp;
}

const claude = /claude/i;

const formulas: Readonly<Record<Family, readonly Formula[]>> = {
  'one-api': [
    {
      zh: '源站从未改过的价格按 2025 年 2 月的 one-api 计；更早的版本可能不同，不认识的模型按倍率 30 扣费',
      en: 'prices that were never changed at the source are taken to be those of one-api of February 2025; an earlier one may charge others, and 30 for a model that it does not know',
    },
    {
      zh: 'one-api 把每次扣费向上取整，OpenAI 的缓存输入按全价；此处不足一个单位的余数计入下一个请求，缓存输入按缓存倍率，扣费因此略低',
      en: 'one-api rounds every charge up and charges cached input of OpenAI in full; here what is left of a unit counts with the next request and cached input costs its own ratio, so that charges are slightly lower',
    },
    {
      zh: 'one-api 自行估算 Gemini、PaLM、腾讯、Coze、Cloudflare、Replicate 以及未返回用量的流式响应的 Token；此处按上游返回的用量扣费',
      en: 'one-api itself counts tokens of Gemini, PaLM, Tencent, Coze, Cloudflare and Replicate, and of streams without usage; here what the provider reports is charged',
    },
    {
      models: claude,
      zh: 'one-api 不收 Claude 的缓存读写费，流式响应多计输出 Token；此处缓存读写按各自的倍率扣费，不多计输出',
      en: 'one-api charges nothing for what Claude reads from its cache or writes to it, and counts output of streams twice in part; here cache reads and writes cost their ratios, and output is what was reported',
    },
  ],
  'new-api': [
    {
      zh: '源站从未改过的价格按 2026 年 8 月的 new-api 计；其他版本可能不同',
      en: 'prices that were never changed at the source are taken to be those of new-api of August 2026; another version may charge others',
    },
    {
      zh: 'new-api 每次至少扣 1；此处不足一个单位的余数计入下一个请求',
      en: 'new-api charges at least 1 for a request; here what is left of a unit counts with the next request',
    },
    {
      models: claude,
      zh: '2025 年的 new-api 对 /v1/messages 的扣费向下取整；经 chat/completions 调用 Claude 时不收缓存写入费，并从输入中再减去缓存读取；此处余数计入下一个请求，缓存读写按各自的倍率扣费',
      en: 'new-api of 2025 rounds charges of /v1/messages down; for Claude behind chat/completions it charges no cache writes and takes cache reads off the input once more. Here what is left of a unit counts with the next request, and cache reads and writes cost their ratios',
    },
  ],
};

/** @param models that the source's channels serve. */
export const formulaNotes = (family: Family, models: Iterable<string>): readonly Words[] => {
  const names = [...models];
  return names.length === 0
    ? []
    : formulas[family].filter(
        ({ models: concerned }) => concerned === undefined || names.some((one) => concerned.test(one)),
      );
};

/** The sentence of a key, from what the server has or from what is typed. */
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { day } from '../../lib/format.ts';
import type { Money } from '../../lib/money.ts';
import { type KeySummary, partsOf, sentenceOf } from './sentence.ts';

type Limited = Pick<
  Token,
  | 'name'
  | 'expired_time'
  | 'remain_quota'
  | 'unlimited_quota'
  | 'day_budget'
  | 'month_budget'
  | 'model_limits_enabled'
  | 'model_limits'
  | 'allow_ips'
>;

export const namesIn = (list: string): readonly string[] =>
  list
    .split(/[,\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** @param money as this site writes amounts. */
export const summaryOf = (token: Limited, money: Money, language: string): KeySummary => ({
  name: token.name,
  total: token.unlimited_quota ? null : money(token.remain_quota),
  day: token.day_budget === 0 ? null : money(token.day_budget),
  month: token.month_budget === 0 ? null : money(token.month_budget),
  models: token.model_limits_enabled ? namesIn(token.model_limits) : [],
  until: token.expired_time <= 0 ? null : day(token.expired_time, language),
  networks: namesIn(token.allow_ips).length,
  rpm: 0,
  requests: null,
});

export function Sentence({ summary }: { readonly summary: KeySummary }) {
  const { t, i18n } = useTranslation();
  return (
    <p className="rounded-2 bg-sunken px-3 py-2.5 max-sm:px-2 max-sm:py-1.5 max-sm:text-[12px] max-sm:leading-4">
      <span className="block text-[12px] font-medium text-ink-2 max-sm:sr-only">{t('tokens.inSentence')}</span>
      {partsOf(sentenceOf(summary, t, i18n.language)).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are told apart by their place alone
        <Fragment key={at}>{at % 2 === 0 ? part : <b className="font-semibold">{part}</b>}</Fragment>
      ))}
    </p>
  );
}

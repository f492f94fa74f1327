/** What a key may do, in one sentence; what stands between `**` is emphasised. Pure. */
import type { TFunction } from 'i18next';
import { grouped } from '../../lib/format.ts';

export interface KeySummary {
  /** '' = not named yet. */
  readonly name: string;
  /** Amounts as this site writes them; null = no such limit. */
  readonly total: string | null;
  readonly day: string | null;
  readonly month: string | null;
  /** Empty = every model. */
  readonly models: readonly string[];
  /** Day on which it stops; null = never. */
  readonly until: string | null;
  /** Addresses and ranges that it may be used from; 0 = any. */
  readonly networks: number;
  /** Requests per minute; 0 = no limit. */
  readonly rpm: number;
  /** How many usual requests the amount pays for; null = not known. */
  readonly requests: number | null;
}

/** Beyond that their number says more. */
const maxNamed = 3;

const bold = (text: string): string => `**${text}**`;

export function sentenceOf(summary: KeySummary, t: TFunction, language: string): string {
  const { name, total, day, month, models, until, networks, rpm, requests } = summary;
  const list = (items: readonly string[]): string => new Intl.ListFormat(language, { style: 'long' }).format(items);
  const spends = [
    total === null ? [] : [t('tokens.sentence.total', { amount: total })],
    day === null ? [] : [t('tokens.sentence.day', { amount: day })],
    month === null ? [] : [t('tokens.sentence.month', { amount: month })],
  ].flat();
  const ends = [
    until === null ? '' : t('tokens.sentence.until', { date: until }),
    networks === 0 ? '' : t('tokens.sentence.networks', { count: networks }),
    rpm === 0 ? '' : t('tokens.sentence.rpm', { count: rpm }),
  ];
  return t('tokens.sentence.whole', {
    // Chinese words need no space between them; a name does, after it.
    name: name === '' ? t('tokens.sentence.nameless') : language === 'zh' ? `${name} ` : name,
    spend: spends.length === 0 ? bold(t('tokens.sentence.noLimit')) : list(spends.map(bold)),
    models:
      models.length === 0
        ? t('tokens.sentence.everyModel')
        : models.length <= maxNamed
          ? list(models.map(bold))
          : bold(t('tokens.sentence.someModels', { count: models.length })),
    until: ends[0],
    networks: ends[1],
    rpm: ends[2],
    about: requests === null ? '' : t('tokens.sentence.about', { count: requests, shown: grouped(requests) }),
  });
}

/** Parts of a sentence; every second one is emphasised. */
export const partsOf = (sentence: string): readonly string[] => sentence.split('**');

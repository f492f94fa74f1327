/** What is wrong with a price that is being written. */
import type { TFunction } from 'i18next';
import type { Draft } from './use-draft.ts';

export interface Around {
  /** Models that have a price. */
  readonly names: ReadonlySet<string>;
  readonly t: TFunction;
}

/** @param before the name it had; undefined = a new one. @returns by field. */
export function errorsIn({ drafted, mode }: Draft, before: string | undefined, { names, t }: Around) {
  const wrong: Record<string, string> = {};
  if (drafted.name === '') wrong.name = t('prices.nameNeeded');
  else if (drafted.name !== before && names.has(drafted.name)) wrong.name = t('prices.nameTaken');
  if (mode === 'request') {
    if (drafted.price === null || Number.isNaN(drafted.price)) wrong.price = t('prices.notNumber');
    else if (drafted.price === 0) wrong.price = t('prices.zeroPrice');
  } else {
    if (drafted.ratio === null || Number.isNaN(drafted.ratio)) wrong.ratio = t('prices.notNumber');
    if (Number.isNaN(drafted.completion)) wrong.completion = t('prices.notNumber');
  }
  return wrong;
}

/** When a target is meant, in a few words. */
import type { TFunction } from 'i18next';
import type { TypedTarget } from './target-form.ts';

export function conditionWords(t: TFunction, target: TypedTarget): string[] {
  const { after, over, upTo, images, thinking, classes, agents } = target;
  const flag = (name: 'images' | 'thinking', value: TypedTarget['images']) =>
    value === '' ? [] : [`${t(`virtualModels.${name}`)}: ${t(`virtualModels.flag${value}`)}`];
  return [
    ...(after.length === 0
      ? []
      : [t('virtualModels.afterWords', { failures: listed(after.map((one) => t(`virtualModels.failure.${one}`))) })]),
    ...(over === '' ? [] : [t('virtualModels.overWords', { tokens: over })]),
    ...(upTo === '' ? [] : [t('virtualModels.upToWords', { tokens: upTo })]),
    ...flag('images', images),
    ...flag('thinking', thinking),
    ...(classes.length === 0 ? [] : [listed(classes.map((one) => t(`virtualModels.class.${one}`)))]),
    ...(agents.trim() === '' ? [] : [agents.trim()]),
  ];
}

const listed = (words: readonly string[]): string => words.join(' / ');

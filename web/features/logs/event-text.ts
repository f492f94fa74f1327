/** The text of a row that is no request, in the reader's language where the row's details allow it. */

import type { TFunction } from 'i18next';
import type { Log } from '../../../server/contract/entities.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import type { Money } from '../../lib/money.ts';

function detailsOf(other: string): Readonly<Record<string, unknown>> {
  try {
    const details: unknown = JSON.parse(other || '{}');
    return typeof details === 'object' && details !== null ? (details as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

export function eventText({ content, other }: Log, t: TFunction, money: Money): string {
  const { quota_before: before, quota_after: after, reason } = detailsOf(other);
  if (typeof before !== 'number' || typeof after !== 'number') return storedIn(content, currentLanguage());
  const moved = t('logs.quotaMoved', { before: money(before), after: money(after) });
  return typeof reason === 'string' && reason !== '' ? t('logs.withReason', { text: moved, reason }) : moved;
}

/** Before and after, a line for each thing that changed. */
import { useTranslation } from 'react-i18next';
import type { AuditChange } from '../../../server/contract/entities.ts';
import { listChange, placeOf, valueText } from './change-words.ts';

const value = 'inline-block min-w-0 rounded-2 px-1.5 py-0.5 font-mono text-[12px] break-all whitespace-pre-wrap';

function Values({ change }: { readonly change: AuditChange }) {
  const { t } = useTranslation();
  const items = listChange(change);
  if (change.hidden) return <span className="text-ink-3">{t('audit.hidden')}</span>;
  if (items !== null)
    return (
      <ul className="flex flex-wrap gap-1">
        {items.removed.map((item) => (
          <li key={`-${item}`}>
            <del className={`${value} bg-danger-soft no-underline`}>
              <span aria-hidden="true">− </span>
              {item}
            </del>
          </li>
        ))}
        {items.added.map((item) => (
          <li key={`+${item}`}>
            <ins className={`${value} bg-success-soft no-underline`}>
              <span aria-hidden="true">+ </span>
              {item}
            </ins>
          </li>
        ))}
      </ul>
    );
  return (
    <p className="flex flex-wrap items-baseline gap-1">
      <del className={`${value} bg-danger-soft no-underline`}>{valueText(t, change, change.before)}</del>
      <span className="text-ink-3" aria-hidden="true">
        →
      </span>
      <ins className={`${value} bg-success-soft no-underline`}>{valueText(t, change, change.after)}</ins>
    </p>
  );
}

export interface ChangeListProps {
  readonly changes: readonly AuditChange[];
  /** How many more there are. */
  readonly left: number;
}

export function ChangeList({ changes, left }: ChangeListProps) {
  const { t } = useTranslation();
  return (
    <ul className="grid gap-3">
      {changes.map((change) => (
        <li key={JSON.stringify([change.kind, change.id, change.field, change.member])} className="grid gap-1">
          <span className="text-[12px] break-all text-ink-3">{placeOf(t, change)}</span>
          <Values change={change} />
        </li>
      ))}
      {left === 0 ? null : <li className="text-ink-3">{t('audit.left', { count: left })}</li>}
    </ul>
  );
}

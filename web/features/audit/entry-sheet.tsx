/** One entry of the audit trail: who, when, from where, what it was before and after; and the way back. */
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AuditView } from '../../../server/contract/entities.ts';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { ChangeList } from './change-list.tsx';
import { detailFields, targetText } from './change-words.ts';

export interface EntrySheetProps {
  readonly entry: AuditView;
  readonly onClose: () => void;
  readonly onUndone: () => void;
}

function Line({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

export function EntrySheet({ entry, onClose, onUndone }: EntrySheetProps) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const { id, changes, changes_left: left, undoable } = entry;
  const undo = async () => {
    setAsking(false);
    if (await attempt(() => call('audit.undo', { id }), t('app.undone'))) onUndone();
  };
  return (
    <Sheet
      title={`#${id} ${entry.action_label}`}
      onClose={onClose}
      footer={
        undoable ? (
          <button type="button" className="button" onClick={() => setAsking(true)}>
            {t('app.undo')}
          </button>
        ) : null
      }
    >
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        <Line name={t('audit.when')}>{dateTime(entry.created_at)}</Line>
        <Line name={t('audit.who')}>{entry.actor}</Line>
        <Line name={t('audit.from')}>{entry.ip === 'local' || entry.ip === '' ? t('audit.local') : entry.ip}</Line>
        {entry.target === '' ? null : <Line name={t('audit.target')}>{targetText(t, entry)}</Line>}
        <Line name={t('audit.call')}>
          <code className="font-mono text-[12px]">{entry.action}</code>
        </Line>
      </dl>
      {changes.length === 0 ? (
        <>
          <h3 className="mt-5 mb-2 font-medium">{t('audit.fields')}</h3>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 font-mono text-[12px]">
            {detailFields(entry.detail).map(([name, value]) => (
              <Line key={name} name={name}>
                <span className="break-all">{String(value)}</span>
              </Line>
            ))}
          </dl>
          <p className="mt-3 text-ink-3">{t('audit.noChanges')}</p>
        </>
      ) : (
        <>
          <h3 className="mt-5 mb-2 font-medium">{t('audit.changes')}</h3>
          <ChangeList changes={changes} left={left} />
        </>
      )}
      {asking ? (
        <Confirm
          title={t('audit.undoTitle', { id })}
          text={t('audit.undoText')}
          action={t('app.undo')}
          onClose={() => setAsking(false)}
          onConfirm={() => void undo()}
        />
      ) : null}
    </Sheet>
  );
}

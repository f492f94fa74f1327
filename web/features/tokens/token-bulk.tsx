/** What is done to tokens that cannot be taken back, to several at once or to one. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { Confirm } from '../../components/overlay.tsx';
import { BulkBar } from '../../components/table/bulk-bar.tsx';
import type { Selection } from '../../components/table/column.ts';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';

type Refresh = () => Promise<unknown>;

export interface TokenBulkProps {
  /** The rows in sight. */
  readonly rows: readonly Token[];
  /** The tokens that are chosen, in sight or not. */
  readonly tokens: readonly Token[];
  /** Chooses every row that matches, also on other pages; null = all of them are in sight. */
  readonly onAll: (() => Promise<unknown>) | null;
  readonly selection: Selection;
  readonly refresh: Refresh;
  readonly onCopy: () => void;
}

/** Names of a question; of many the first ones. */
const maxNames = 5;

export function TokenBulk({ rows, tokens, selection, refresh, onCopy, onAll }: TokenBulkProps) {
  const { t } = useTranslation();
  const { selected, onChange } = selection;
  const [removingMany, setRemovingMany] = useState(false);
  const onPage = new Set(rows.map(({ id }) => id));
  const hidden = tokens.filter(({ id }) => !onPage.has(id)).length;
  const names = tokens.slice(0, maxNames).map(({ name }) => name);
  return (
    <>
      <BulkBar selection={selection} matching={onPage} onAll={onAll}>
        <button type="button" className="button button-ghost" onClick={onCopy}>
          {t('tokens.copyChosen')}
        </button>
        <button type="button" className="button button-ghost text-danger" onClick={() => setRemovingMany(true)}>
          {t('app.delete')}
        </button>
      </BulkBar>
      {removingMany ? (
        <Confirm
          title={t('tokens.deleteManyTitle', { count: selected.size })}
          text={
            <>
              <p className="mb-2 break-words text-ink-1">
                {names.join(', ')}
                {tokens.length > names.length ? ` ${t('tokens.andMore', { count: tokens.length - names.length })}` : ''}
              </p>
              {hidden === 0 ? null : <p className="mb-2">{t('tokens.notInSight', { count: hidden })}</p>}
              <p>{t('tokens.deleteText')}</p>
            </>
          }
          action={t('app.delete')}
          onClose={() => setRemovingMany(false)}
          onConfirm={async () => {
            setRemovingMany(false);
            if (!(await attempt(() => call('token.delete_many', { ids: [...selected] })))) return;
            onChange(new Set());
            await refresh();
          }}
        />
      ) : null}
    </>
  );
}

export interface RemoveTokenProps {
  readonly token: Token;
  readonly refresh: Refresh;
  readonly onClose: () => void;
}

export function RemoveToken({ token: { id, name }, refresh, onClose }: RemoveTokenProps) {
  const { t } = useTranslation();
  return (
    <Confirm
      title={t('tokens.deleteTitle', { name })}
      text={t('tokens.deleteText')}
      action={t('app.delete')}
      onClose={onClose}
      onConfirm={async () => {
        onClose();
        if (await attempt(() => call('token.delete', { id }))) await refresh();
      }}
    />
  );
}

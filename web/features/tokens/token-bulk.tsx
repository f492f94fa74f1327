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
  readonly rows: readonly Token[];
  readonly selection: Selection;
  readonly refresh: Refresh;
  readonly onCopy: () => void;
}

export function TokenBulk({ rows, selection, refresh, onCopy }: TokenBulkProps) {
  const { t } = useTranslation();
  const { chosen, onChange } = selection;
  const [removingMany, setRemovingMany] = useState(false);
  return (
    <>
      <BulkBar selection={selection} matching={new Set(rows.map(({ id }) => id))}>
        <button type="button" className="button button-ghost" onClick={onCopy}>
          {t('tokens.copyChosen')}
        </button>
        <button type="button" className="button button-ghost text-danger" onClick={() => setRemovingMany(true)}>
          {t('app.delete')}
        </button>
      </BulkBar>
      {removingMany ? (
        <Confirm
          title={t('tokens.deleteManyTitle', { count: chosen.size })}
          text={t('tokens.deleteText')}
          action={t('app.delete')}
          onClose={() => setRemovingMany(false)}
          onConfirm={async () => {
            setRemovingMany(false);
            if (!(await attempt(() => call('token.delete_many', { ids: [...chosen] })))) return;
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

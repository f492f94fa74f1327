/** Actions on the chosen channels. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Channel } from '../../../server/contract/entities.ts';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { BulkBar } from '../../components/table/bulk-bar.tsx';
import type { Selection } from '../../components/table/column.ts';
import { call } from '../../lib/api.ts';
import type { ChannelActions } from './actions.ts';
import { useDeleteText } from './delete-text.ts';

export interface ChannelBulkProps {
  readonly channels: readonly Channel[];
  readonly selection: Selection;
  readonly actions: ChannelActions;
}

export function ChannelBulk({ channels, selection, actions }: ChannelBulkProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<'tag' | 'delete' | null>(null);
  const [tag, setTag] = useState('');
  const selected = channels.filter(({ id }) => selection.selected.has(id));
  const deleteText = useDeleteText(open === 'delete' ? selected.map(({ id }) => id) : [], t('channels.deleteText'));
  const button = (label: string, run: () => unknown, isDanger = false) => (
    <button type="button" className={`button button-ghost ${isDanger ? 'text-danger' : ''}`} onClick={() => run()}>
      {label}
    </button>
  );
  return (
    <>
      <BulkBar selection={selection} matching={new Set(channels.map(({ id }) => id))}>
        {button(t('app.enable'), () => actions.setStatus(selected, 1))}
        {button(t('app.disable'), () => actions.setStatus(selected, 2))}
        {button(t('channels.test'), () =>
          actions.run(async () => {
            const results = await call('channel.test_many', { ids: selected.map(({ id }) => id) });
            const good = results.filter(({ success }) => success).length;
            toast.info(t('channels.testedMany', { good, count: results.length }));
          }),
        )}
        {button(t('channels.setTag'), () => setOpen('tag'))}
        {button(t('app.delete'), () => setOpen('delete'), true)}
      </BulkBar>
      {open === 'tag' ? (
        <Sheet title={t('channels.setTag')} onClose={() => setOpen(null)}>
          <form
            className="flex gap-2"
            onSubmit={async (event) => {
              event.preventDefault();
              if (selected.length === 0) return void toast.error(t('channels.pickToTag'));
              if (tag.trim() === '') return void toast.error(t('channels.tagEmpty'));
              if (await actions.setTag(selected, tag.trim())) setOpen(null);
            }}
          >
            <input
              className="field"
              aria-label={t('channels.tag')}
              placeholder={t('channels.tag')}
              value={tag}
              onChange={(event) => setTag(event.target.value)}
            />
            <button type="submit" className="button button-primary h-8">
              {t('channels.setTag')}
            </button>
          </form>
        </Sheet>
      ) : null}
      {open === 'delete' ? (
        <Confirm
          title={t('channels.deleteManyTitle', { count: selected.length })}
          text={deleteText}
          action={t('app.delete')}
          onClose={() => setOpen(null)}
          onConfirm={async () => {
            setOpen(null);
            if (selected.length === 0) return void toast.error(t('channels.pickToDelete'));
            if (await actions.remove(selected)) selection.onChange(new Set());
          }}
        />
      ) : null}
    </>
  );
}

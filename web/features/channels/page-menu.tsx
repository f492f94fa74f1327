/** What is done to all channels at once. */
import { Menu, MenuButton, MenuItem, MenuItems } from '@headlessui/react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon } from '../../components/icon.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import type { ChannelActions } from './actions.ts';
import { useDeleteText } from './delete-text.ts';

const none: readonly never[] = [];

export function PageMenu({ actions }: { readonly actions: ChannelActions }) {
  const { t } = useTranslation();
  const [confirm, setConfirm] = useState(false);
  const deleteText = useDeleteText(confirm ? 'disabled' : none, t('channels.deleteDisabledText'));
  const items: readonly (readonly [string, () => unknown])[] = [
    [t('channels.testAll'), () => actions.run(() => call('channel.test_all'), t('channels.testAllOk'))],
    [t('channels.balanceAll'), () => actions.run(() => call('channel.balance_all'), t('channels.balanceAllOk'))],
    [t('channels.fix'), () => actions.run(() => call('channel.fix'), t('channels.fixOk'))],
    [t('channels.deleteDisabled'), () => setConfirm(true)],
  ];
  return (
    <>
      <Menu>
        <MenuButton className="button" aria-label={t('channels.more')}>
          <Icon name="more" />
        </MenuButton>
        <MenuItems anchor="bottom end" className="menu w-60">
          {items.map(([label, run]) => (
            <MenuItem key={label}>
              <button type="button" className="menu-item" onClick={() => run()}>
                {label}
              </button>
            </MenuItem>
          ))}
        </MenuItems>
      </Menu>
      {confirm ? (
        <Confirm
          title={t('channels.deleteDisabled')}
          text={deleteText}
          action={t('app.delete')}
          onClose={() => setConfirm(false)}
          onConfirm={() => {
            setConfirm(false);
            void actions.run(() => call('channel.delete_disabled'), t('channels.updatedOk'));
          }}
        />
      ) : null}
    </>
  );
}

/** In place of a user whom the address names and who is not there. */
import { useTranslation } from 'react-i18next';
import { Missing } from '../../components/missing.tsx';

export function MissingUser({ id, text }: { readonly id: number; readonly text: string }) {
  const { t } = useTranslation();
  return <Missing title={`${t('logs.user')} #${id}`} text={text} href="/user" all={t('users.all')} />;
}

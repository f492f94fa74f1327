/** Something is being read. */
import { useTranslation } from 'react-i18next';

interface WaitingProps {
  /** It stands where a line of text will: nothing below it moves then. */
  readonly inLine?: boolean;
}

export function Waiting({ inLine = false }: WaitingProps) {
  const { t } = useTranslation();
  return (
    <p role="status" data-waiting className={inLine ? '' : 'p-5 text-ink-3'}>
      {t('app.loading')}
    </p>
  );
}

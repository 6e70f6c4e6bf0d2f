/** Maps event names to the type of their payload. */
export type EventMap = Record<string, unknown>;

export type Handler<P> = (payload: P) => void;

/** Delivers typed events to subscribers, in the order of subscription. */
export class EventBus<M extends EventMap> {
  private readonly handlers = new Map<keyof M, Handler<never>[]>();

  /** Subscribes and returns the function that ends the subscription. */
  on<K extends keyof M>(name: K, handler: Handler<M[K]>): () => void {
    this.handlers.set(name, [...this.handlersOf(name), handler]);
    return () => this.off(name, handler);
  }

  /** Subscribes for a single event. */
  once<K extends keyof M>(name: K, handler: Handler<M[K]>): () => void {
    const stop = this.on(name, (payload) => {
      stop();
      handler(payload);
    });
    return stop;
  }

  off<K extends keyof M>(name: K, handler: Handler<M[K]>): void {
    const remaining = this.handlersOf(name).filter((candidate) => candidate !== handler);
    this.handlers.set(name, remaining);
  }

  /** Calls every handler; failures are gathered so that one cannot silence the others. */
  emit<K extends keyof M>(name: K, payload: M[K]): number {
    const failures: unknown[] = [];
    const handlers = this.handlersOf(name);
    for (const handler of handlers) {
      try {
        handler(payload);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      throw new AggregateError(failures, `${failures.length} handlers of ${String(name)} failed`);
    }
    return handlers.length;
  }

  private handlersOf<K extends keyof M>(name: K): Handler<M[K]>[] {
    return (this.handlers.get(name) ?? []) as Handler<M[K]>[];
  }
}

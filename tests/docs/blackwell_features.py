"""What Blackwell adds, feature by feature, and the tests that hold each: a table of
docs/blackwell.md."""

from __future__ import annotations

CHECK, EVALUATE = "check/test_tcgen05", "evaluate/test_tcgen05.py::test"
CODE, SIM = "hw/test_tcgen05.py::test", "sim/test_tcgen05.py::test"
IR = "ir/test_validate_tcgen05.py::test"
TWINS = "check/test_scenarios.py::test_twin_is_named_by_its_rule_alone"

FEATURES = {
    "`alloc`, `dealloc`, `relinquish_alloc_permit`": (
        f"{CHECK}_alloc.py::test_allocate_free_relinquish",
        f"{EVALUATE}_memory_that_stays_allocated_is_a_leak",
        f"{CODE}_addresses_of_tensor_memory",
        f"{SIM}_ctas_of_an_sm_wait_for_columns",
    ),
    "... of a pair": (
        f"{CHECK}.py::test_a_pair_allocates_after_both_run",
        f"{EVALUATE}_one_of_a_pair_does_not_free_alone",
        f"{SIM}_the_alloc_of_a_pair_waits_for_its_peer",
    ),
    "`mma`, A in shared memory": (
        f"{CHECK}_cases.py::test_an_mma_completes_by_its_commit",
        f"{EVALUATE}_each_kind",
        f"{CODE}_machine_code",
        f"{SIM}_published_intervals",
    ),
    "... A in tensor memory": (
        f"{EVALUATE}_a_from_tensor_memory",
        f"{CODE}_what_is_assembled_is_clean",
        f"{CODE}_machine_code",
        f"{SIM}_published_completions",
    ),
    "... of a pair of CTAs": (
        f"{CHECK}.py::test_a_pair_of_ctas",
        f"{EVALUATE}_256_rows_over_two_ctas",
        f"{EVALUATE}_128_rows_over_two_ctas_fold_the_columns",
        f"{CODE}_pairs",
    ),
    "... shapes and types": (
        f"{IR}_shapes_that_exist",
        f"{IR}_shapes_and_types_that_do_not",
        f"{CODE}_instruction_descriptors",
    ),
    "block-scaled MXFP8, MXFP4, NVFP4": (
        f"{IR}_scale_factors",
        f"{EVALUATE}_block_scaling",
        "evaluate/test_bw_block_scaled.py::test_the_scaled_product",
        f"{CODE}_machine_code",
    ),
    "`commit`, also to several CTAs": (
        f"{CHECK}_cases.py::test_a_commit_before_the_mma_does_not_cover_it",
        f"{CHECK}.py::test_stages_that_all_ctas_of_a_cluster_read",
        "check/test_document_clusters.py::test_d16_a_pair_multiplies_256_by_256",
        f"{CODE}_pairs",
    ),
    "`ld`, `st`, `wait`": (
        f"{CHECK}_cases.py::test_registers_before_wait_ld",
        f"{CHECK}_cases.py::test_a_load_after_a_store_without_its_wait",
        f"{EVALUATE}_registers_go_to_tensor_memory_and_back",
        f"{CODE}_stores_assemble",
    ),
    "`cp`, all shapes, and `shift`": (
        f"{CHECK}_cases.py::test_a_copy_to_tensor_memory_that_is_not_waited_for",
        f"{EVALUATE}_copies",
        f"{EVALUATE}_shift_moves_the_rows_of_32_lanes_down_by_one",
        f"{CODE}_copies_and_shift_assemble",
    ),
    "fences": (
        f"{CHECK}_cases.py::test_a_pipeline_over_two_threads_needs_both_fences",
        f"{CHECK}.py::test_each_wait_commit_and_fence_is_needed",
    ),
    "tiles of tensor memory as regions": (
        f"{CHECK}_rings.py::test_disjoint_columns_do_not_race",
        f"{CHECK}_rings.py::test_disjoint_lanes_do_not_race",
        f"{CHECK}_rings.py::test_m_64_leaves_half_of_the_lanes_alone",
    ),
    "cluster launch control": (
        "check/test_clc.py::test_every_number_of_tiles_that_a_cta_may_get",
        "check/test_clc.py::test_a_response_for_all_ctas_of_a_cluster",
        "evaluate/test_handed_out.py::test_products_of_any_assignment",
        "sim/test_handed_out.py::test_clusters_that_wait_for_a_place_are_taken_over",
    ),
    "im2col along W, gather4, scatter4": (
        "hw/test_wide_pixels.py::test_rows_of_pixels",
        "hw/test_wide_pixels.py::test_assembled",
        "hw/test_gather4.py::test_rows_go_where_they_should",
    ),
    "twins: a commit, a fence, the wrong slot, a leak, the order of alloc, early dealloc, a peer "
    "that does not run": (TWINS,),
}
